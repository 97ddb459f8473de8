"""A growing set of rows as few immutable sorted runs, so that a step costs what it changes.

Runs of similar size are merged, eight at a time, so a row is rewritten a logarithmic number of
times. Only runs that end in the same quarter of a window are merged: then expiry drops whole
runs, and rows that are over but still there stay below a quarter. Rows without an end have
runs of their own. A run that keeps many dead rows for long is written again without them.

Rows may be discarded before they end, for good: they are not counted any more and go with the next
writing of their run. Until then a mask says which they are, and whoever probes may still find
them: only rows that nothing can match are discarded. At least half of a run of many rows is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.operators.state.sorted_run import END, KEY, UNTIL, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, concat

FAN_IN = 8
SMALL = 512  # rows; runs below this are all of one size
MOST_ROWS_MERGED_AT_ONCE = (
    1024  # rows; as long as there are fewer, runs are merged whenever they end: few runs matter most
)
LARGE = 1 << 14  # rows; to probe one more run costs less than to write one of so many rows again
SAMPLE = 256  # rows looked at to guess when a quarter of a run is over
Entry = dict[str, Any]


class Runs:
    """The runs that `store.head[name]` remembers; sorted by `_k`, or `_s` where rows have no key."""

    def __init__(self, store: Store, name: str, by: str = KEY) -> None:
        self._store = store
        self._by = by
        self._entries: list[Entry] = store.head.setdefault(name, [])

    @property
    def rows(self) -> int:
        return sum(entry["rows"] - entry.get("discarded", 0) for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, run: SortedRun) -> None:
        """Keep rows that are sorted already."""
        if not run.rows:
            return
        open_ = run.until == FOREVER
        if open_.all() or not open_.any():
            self._put(run)
            return
        for part in (open_, ~open_):
            self._put(SortedRun.of(take_rows(run.plain(), np.flatnonzero(part)), self._by))

    def near(self, probe: SortedRun) -> Iterator[SortedRun]:
        """The runs with a row whose life may overlap that of a row of the probe."""
        return self.overlapping(int(probe.starts.min()), int(probe.ends.max()))

    def overlapping(self, low: int = NEVER, high: int = FOREVER) -> Iterator[SortedRun]:
        """The runs with a row whose life may overlap [low, high)."""
        for entry in self._entries:
            if entry["min_s"] < high and entry["max_e"] > low:
                yield self._run(entry)

    def alive(self, bound: int) -> Iterator[tuple[SortedRun, np.ndarray]]:
        """All runs, and which of their rows are of use after the bound and not discarded."""
        for entry in self._entries:
            run = self._run(entry)
            yield run, (run.until > bound) & ~self._discarded(entry)

    def settle(self, bound: int) -> None:
        """Forget rows of no use after the bound, which no partner can meet, and merge what is many."""
        for entry in [e for e in self._entries if e["max_e"] <= bound]:
            self._drop(entry)
        for entry in self._lingering(bound):
            self._merge([entry], bound)
        while merged := self._mergeable():
            self._merge(merged, bound)

    def clear(self) -> None:
        """Forget all rows."""
        for entry in list(self._entries):
            self._drop(entry)

    def keep_where(self, mask: Callable[[SortedRun], np.ndarray]) -> None:
        """Write again, without them, the runs that have rows outside the mask."""
        for entry in list(self._entries):
            run = self._run(entry)
            kept = mask(run)
            if not kept.all():
                self._replace(entry, run, kept & ~self._discarded(entry))

    def discard(self, places: Callable[[SortedRun], np.ndarray]) -> None:
        """Let rows go before their end: `places` tells where they are in a run."""
        for entry in list(self._entries):
            run = self._run(entry)
            found = places(run)
            if len(found):
                self._mark(entry, run, self._discarded(entry), found)

    def take(self, places: Callable[[SortedRun], np.ndarray]) -> list[pa.RecordBatch]:
        """Discard rows, and give them back."""
        taken = []
        for entry in list(self._entries):
            run = self._run(entry)
            found = places(run)
            if len(found):
                gone = self._discarded(entry)
                taken.append(take_rows(run.plain(), np.unique(found[~gone[found]])))
                self._mark(entry, run, gone, found)
        return taken

    def _mark(self, entry: Entry, run: SortedRun, gone: np.ndarray, found: np.ndarray) -> None:
        """Discard more rows of a run; `gone` are those that are discarded already."""
        gone[found] = True
        count = int(np.count_nonzero(gone))
        if run.rows <= MOST_ROWS_MERGED_AT_ONCE or 2 * count > run.rows:
            self._replace(entry, run, ~gone)
        elif count > entry.get("discarded", 0):
            self._drop_mask(entry)
            entry["mask"] = self._store.put(pa.record_batch({"gone": np.packbits(gone)}))
            entry["discarded"] = count

    def _run(self, entry: Entry) -> SortedRun:
        return SortedRun(self._store.get(entry["run"]))

    def _replace(self, entry: Entry, run: SortedRun, kept: np.ndarray) -> None:
        self._drop(entry)
        self.add(SortedRun.of(take_rows(run.plain(), np.flatnonzero(kept)), self._by))

    def _discarded(self, entry: Entry) -> np.ndarray:
        """Which rows of a run are discarded."""
        if "mask" not in entry:
            return np.zeros(entry["rows"], bool)
        packed = self._store.get(entry["mask"])["gone"].to_numpy()
        return np.unpackbits(packed, count=entry["rows"]).astype(bool)

    def _drop_mask(self, entry: Entry) -> None:
        if "mask" in entry:
            self._store.drop(entry["mask"])

    def _put(self, run: SortedRun) -> None:
        ends = run.until
        self._entries.append(
            {
                "run": self._store.put(run.batch),
                "rows": run.rows,
                "bytes": int(run.batch.nbytes),
                "min_s": int(run.starts.min()),
                "max_s": int(run.starts.max()),
                "min_e": int(ends.min()),
                "max_e": int(ends.max()),
                "life": FOREVER if ends.max() == FOREVER else int((ends - run.starts).max()),
                "quarter_e": int(np.quantile(ends[:: run.rows // SAMPLE + 1], 0.25, method="lower")),
                "tier": _tier(run.rows),
            }
        )

    def _drop(self, entry: Entry) -> None:
        self._store.drop(entry["run"])
        self._drop_mask(entry)
        self._entries.remove(entry)

    def _merge(self, entries: list[Entry], bound: int) -> None:
        whole = _with_use(concat([self._run(entry).plain() for entry in entries]))
        alive = SortedRun(whole).until > bound
        alive &= ~np.concatenate([self._discarded(entry) for entry in entries])
        merged = SortedRun.of(whole if alive.all() else take_rows(whole, np.flatnonzero(alive)), self._by)
        for entry in entries:
            self._drop(entry)
        self.add(merged)

    def _quarter(self) -> int:
        """A quarter of the window, as the rows show it."""
        return max((e["life"] for e in self._entries if e["life"] != FOREVER), default=0) // 4 + 1

    def _lingering(self, bound: int) -> list[Entry]:
        """Runs of which a quarter is over and that will stay for longer than a quarter of a window."""
        stay = bound + self._quarter()
        return [e for e in self._entries if e["quarter_e"] <= bound and stay < e["max_e"] < FOREVER]

    def _mergeable(self) -> list[Entry] | None:
        """Runs that end in the same quarter of a window and are better one run."""
        quarter = self._quarter() if self.rows >= MOST_ROWS_MERGED_AT_ONCE else FOREVER
        groups: dict[int, list[Entry]] = {}
        for entry in self._entries:
            groups.setdefault(entry["max_e"] // quarter, []).append(entry)
        latest = max((e["max_e"] for e in self._entries if e["max_e"] < FOREVER), default=FOREVER) // quarter
        for epoch, entries in groups.items():
            if merged := _crowded(entries) or (_similar(entries) if epoch < latest else None):
                return merged
        return None


def _with_use(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of which only some say until when they are of use: the others are until their end."""
    place = batch.schema.get_field_index(UNTIL)
    if place < 0 or not batch.column(place).null_count:
        return batch
    return batch.set_column(place, UNTIL, pc.coalesce(batch.column(place), batch[END]))


def _crowded(entries: list[Entry]) -> list[Entry] | None:
    """The runs of one size, if they are many."""
    tiers: dict[tuple[int, bool], list[Entry]] = {}
    for entry in entries:
        tiers.setdefault((entry["tier"], entry["max_e"] == FOREVER), []).append(entry)
    full = (same for (tier, _), same in tiers.items() if len(same) >= (FAN_IN if tier else FAN_IN // 2))
    return next(full, None)


def _similar(entries: list[Entry]) -> list[Entry] | None:
    """Runs of a quarter to which hardly more will come: the smaller ones, while none dwarfs the rest."""
    chosen: list[Entry] = []
    for entry in sorted((e for e in entries if e["rows"] < LARGE), key=lambda e: int(e["rows"])):
        if entry["rows"] > 4 * sum(e["rows"] for e in chosen):
            if len(chosen) > 1:
                break
            chosen = []
        chosen.append(entry)
    return chosen if len(chosen) > 1 else None


def _tier(rows: int) -> int:
    """
    >>> [_tier(rows) for rows in (1, 511, 512, 4095, 4096)]
    [0, 0, 1, 1, 2]
    """
    return ((rows // SMALL).bit_length() + 2) // 3
