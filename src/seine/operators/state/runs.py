"""A log-structured set of rows: few immutable sorted runs, merged geometrically, expired by whole runs.

    head[name]   [{run: r3, rows: 4096, max_e: .., tier: 2}, {run: r9, mask: r10, rows: 300, tier: 0}, ...]
                        |                                          |         |
    store         sorted Arrow batch                   sorted Arrow batch   discarded rows as bits

Runs of similar size are merged, eight at a time, so a row is rewritten a logarithmic number of times (tiered
compaction). Only runs that end in the same quarter of a window are merged: then expiry drops whole runs, and
expired rows that are still stored stay below a quarter (time-windowed compaction). Rows without an end have
runs of their own. A run that would keep many expired rows for long is rewritten without them.

Rows may be discarded before they end, for good: they are not counted any more and go with the next rewrite
of their run. Until then a mask says which they are, and a probe may still hit them: only rows that nothing
can match may be discarded. At least half of a run of many rows is alive.

Law: the rows of all runs are those added, less those discarded or taken, less some or all of those that are
of no use after the last bound.

Retractable rows: a log-structured set of rows, and beside it a set of tombstones by row identity.

A row lives in [_s, _e) and may be retracted: then its lifetime ends early, at `_d`. Runs are immutable, so
a retraction is kept as a row of a second set (the tombstone). It is dropped at the row's natural end, or by
a sweep that rewrites the runs without retracted rows once enough tombstones have gathered. Several rows may
share an identity; they all end at the same instant.

    runs        _k _s _e _i0 c0 ..      immutable, sorted by key (see `runs.py`)
    tombstones  hash(_i0 ..) _s _e _d _i0 ..

Law: a row is alive at t iff _s <= t < min(_e, the `_d` of its identity's tombstone, if it has one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.sorted_run import EARLY, END, KEY, START, UNTIL, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, concat_batches, identity_names
from seine.rows.hashing import hash_columns

MERGED_RUNS = 8  # runs of one tier that are merged into one; half as many of tier 0
TIER_ROWS = 512  # rows below which runs are all of tier 0
FREELY_MERGED_ROWS = 1024  # below so many rows in all, runs are merged whenever they end
LEAST_ROWS_NOT_REMERGED = 1 << 14  # probing one more run costs less than rewriting one of so many rows
SAMPLED_ENDS = 256  # ends looked at, about, to estimate when a quarter of a run has expired
RunEntry = dict[str, Any]  # what the head says of a run


class Runs:
    """The runs listed in `store.head[name]`, each sorted by `_k`, or by `_s` where rows have no key.

    `within` are columns that order the rows of one key, in all runs that are added too.
    """

    def __init__(self, store: Store, name: str, by: str = KEY, within: tuple[str, ...] = ()) -> None:
        self._store = store
        self._by, self._within = by, within
        self._entries: list[RunEntry] = store.head.setdefault(name, [])

    @property
    def rows(self) -> int:
        return sum(entry["rows"] - entry.get("discarded", 0) for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, run: SortedRun) -> None:
        """Insert rows that are sorted already, as one run or two: open lifetimes are kept apart."""
        if not run.rows:
            return
        open_ = run.until == FOREVER
        if open_.all() or not open_.any():
            self._put(run)
            return
        for part in (open_, ~open_):
            self._put(SortedRun.of(take_rows(run.plain(), np.flatnonzero(part)), self._by))

    def near(self, probe: SortedRun) -> Iterator[SortedRun]:
        """The runs with a row whose lifetime may overlap that of a row of the probe."""
        return self.overlapping(int(probe.starts.min()), int(probe.ends.max()))

    def overlapping(self, low: int = NEVER, high: int = FOREVER) -> Iterator[SortedRun]:
        """The runs with a row whose lifetime may overlap [low, high)."""
        for entry in self._entries:
            if entry["min_s"] < high and entry["max_e"] > low:
                yield self._run(entry)

    def alive(self, bound: int) -> Iterator[tuple[SortedRun, BoolArray]]:
        """All runs, each with a mask of its rows that are of use after the bound and not discarded."""
        for entry in self._entries:
            run = self._run(entry)
            yield run, (run.until > bound) & ~self._discarded(entry)

    def settle(self, bound: int) -> None:
        """Purge rows that are of no use after the bound, because nothing can join them, and compact runs."""
        for entry in [e for e in self._entries if e["max_e"] <= bound]:
            self._drop(entry)
        for entry in self._lingering(bound):
            self._merge([entry], bound)
        while merged := self._mergeable():
            self._merge(merged, bound)

    def clear(self) -> None:
        """Delete all rows."""
        for entry in list(self._entries):
            self._drop(entry)

    def keep_where(self, mask: Callable[[SortedRun], BoolArray]) -> None:
        """Delete the rows outside a mask, by rewriting the runs that have any."""
        for entry in list(self._entries):
            run = self._run(entry)
            kept = mask(run)
            if not kept.all():
                self._replace(entry, run, kept & ~self._discarded(entry))

    def shorten(self, until: Callable[[SortedRun], IntArray]) -> None:
        """Let rows be of use no longer than `until` computes for a run; what never is, is deleted."""
        for entry in list(self._entries):
            run = self._run(entry)
            ends = np.minimum(run.until, until(run))
            if (ends == run.until).all():
                continue
            kept = np.flatnonzero((ends > NEVER) & ~self._discarded(entry))
            rows = take_rows(run.plain(), kept)
            place = rows.schema.get_field_index(UNTIL)
            column = pa.array(ends[kept])
            rows = rows.append_column(UNTIL, column) if place < 0 else rows.set_column(place, UNTIL, column)
            self._drop(entry)
            self.add(SortedRun.of(rows, self._by, self._within))

    def discard(self, places: Callable[[SortedRun], IntArray]) -> None:
        """Delete rows, lazily, before their end: `places` computes where they are in a run."""
        for entry in list(self._entries):
            run = self._run(entry)
            hits = places(run)
            if len(hits):
                self._mark(entry, run, self._discarded(entry), hits)

    def take(self, places: Callable[[SortedRun], IntArray]) -> list[pa.RecordBatch]:
        """Discard rows, and return them."""
        taken = []
        for entry in list(self._entries):
            run = self._run(entry)
            hits = places(run)
            if len(hits):
                gone = self._discarded(entry)
                taken.append(take_rows(run.plain(), np.unique(hits[~gone[hits]])))
                self._mark(entry, run, gone, hits)
        return taken

    def _mark(self, entry: RunEntry, run: SortedRun, gone: BoolArray, hits: IntArray) -> None:
        """Discard more rows of a run; `gone` masks those that are discarded already."""
        gone[hits] = True
        count = int(np.count_nonzero(gone))
        if run.rows <= FREELY_MERGED_ROWS or 2 * count > run.rows:
            self._replace(entry, run, ~gone)
        elif count > entry.get("discarded", 0):
            self._drop_mask(entry)
            entry["mask"] = self._store.put(pa.record_batch({"gone": np.packbits(gone)}))
            entry["discarded"] = count

    def _run(self, entry: RunEntry) -> SortedRun:
        return SortedRun(self._store.get(entry["run"]))

    def _replace(self, entry: RunEntry, run: SortedRun, kept: BoolArray) -> None:
        self._drop(entry)
        self.add(SortedRun.of(take_rows(run.plain(), np.flatnonzero(kept)), self._by))

    def _discarded(self, entry: RunEntry) -> BoolArray:
        """The mask of the discarded rows of a run."""
        if "mask" not in entry:
            return np.zeros(entry["rows"], bool)
        packed = self._store.get(entry["mask"])["gone"].to_numpy()
        return np.unpackbits(packed, count=entry["rows"]).astype(bool)

    def _drop_mask(self, entry: RunEntry) -> None:
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
                "quarter_e": int(np.quantile(ends[:: run.rows // SAMPLED_ENDS + 1], 0.25, method="lower")),
                "tier": _tier(run.rows),
            }
        )

    def _drop(self, entry: RunEntry) -> None:
        self._store.drop(entry["run"])
        self._drop_mask(entry)
        self._entries.remove(entry)

    def _merge(self, entries: list[RunEntry], bound: int) -> None:
        whole = _with_until(concat_batches([self._run(entry).plain() for entry in entries]))
        alive = SortedRun(whole).until > bound
        alive &= ~np.concatenate([self._discarded(entry) for entry in entries])
        kept = whole if alive.all() else take_rows(whole, np.flatnonzero(alive))
        merged = SortedRun.of(kept, self._by, self._within)
        for entry in entries:
            self._drop(entry)
        self.add(merged)

    def _quarter(self) -> int:
        """A quarter of the longest lifetime of a row: of the window, as far as the rows show it."""
        return max((e["life"] for e in self._entries if e["life"] != FOREVER), default=0) // 4 + 1

    def _lingering(self, bound: int) -> list[RunEntry]:
        """Runs of which a quarter has expired and that will stay for longer than a quarter of a window."""
        stay = bound + self._quarter()
        return [e for e in self._entries if e["quarter_e"] <= bound and stay < e["max_e"] < FOREVER]

    def _mergeable(self) -> list[RunEntry] | None:
        """Runs that end in the same quarter of a window and should become one run; None if there are none."""
        quarter = self._quarter() if self.rows >= FREELY_MERGED_ROWS else FOREVER
        groups: dict[int, list[RunEntry]] = {}
        for entry in self._entries:
            groups.setdefault(entry["max_e"] // quarter, []).append(entry)
        latest = max((e["max_e"] for e in self._entries if e["max_e"] < FOREVER), default=FOREVER) // quarter
        for epoch, entries in groups.items():
            if merged := _crowded(entries) or (_similar(entries) if epoch < latest else None):
                return merged
        return None


def _with_until(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of several runs, `_u` filled in: those of runs without that column are of use until their end."""
    place = batch.schema.get_field_index(UNTIL)
    if place < 0 or not batch.column(place).null_count:
        return batch
    return batch.set_column(place, UNTIL, pc.coalesce(batch.column(place), batch[END]))


def _crowded(entries: list[RunEntry]) -> list[RunEntry] | None:
    """The runs of one tier, if they are enough to be merged."""
    tiers: dict[tuple[int, bool], list[RunEntry]] = {}
    for entry in entries:
        tiers.setdefault((entry["tier"], entry["max_e"] == FOREVER), []).append(entry)
    for (tier, _), alike in tiers.items():
        if len(alike) >= (MERGED_RUNS if tier else MERGED_RUNS // 2):
            return alike
    return None


def _similar(entries: list[RunEntry]) -> list[RunEntry] | None:
    """The smaller runs of a quarter that hardly grows any more, as long as none dwarfs the others."""
    chosen: list[RunEntry] = []
    for entry in sorted(
        (e for e in entries if e["rows"] < LEAST_ROWS_NOT_REMERGED), key=lambda e: int(e["rows"])
    ):
        if entry["rows"] > 4 * sum(e["rows"] for e in chosen):
            if len(chosen) > 1:
                break
            chosen = []
        chosen.append(entry)
    return chosen if len(chosen) > 1 else None


def _tier(rows: int) -> int:
    """The size class of a run: each is eight times as large as the one before.

    >>> [_tier(rows) for rows in (1, 511, 512, 4095, 4096)]
    [0, 0, 1, 1, 2]
    """
    return ((rows // TIER_ROWS).bit_length() + 2) // 3


TOMBSTONES_BEFORE_SWEEP = 1024  # tombstones that may gather before runs are rewritten


class RetractableRows:
    """The rows of one input and their tombstones, kept in the head under names that begin with `name`."""

    def __init__(self, store: Store, name: str, identities: int, by: str = KEY) -> None:
        self.runs = Runs(store, name, by)
        self._ids = identity_names(identities)
        self._tombstones = Runs(store, f"{name}_tombstones")
        self._memory = store.head.setdefault(f"{name}_memory", {"bound": NEVER, "swept_at": 0})

    def end(self, minus: pa.RecordBatch | None) -> Iterator[SortedRun]:
        """Apply retractions; yields the stored rows that they end, each with its `_d`.

        An identity that is retracted already is skipped: its rows arrived together with their end.
        """
        if minus is None or not self._ids:
            return
        fresh = take_rows(minus, np.flatnonzero(self.early_ends(minus) == FOREVER))
        self.remember(minus)
        yield from self._stored(_distinct(fresh, [KEY, START, *self._ids]))

    def remember(self, minus: pa.RecordBatch) -> None:
        """Write tombstones without searching for the rows that they end."""
        identity = [minus[name] for name in self._ids]
        keys = pa.array(hash_columns(identity, minus.num_rows))
        arrays = [keys, minus[START], minus[END], minus[EARLY], *identity]
        ends = pa.RecordBatch.from_arrays(arrays, names=[KEY, START, END, EARLY, *self._ids])
        self._tombstones.add(SortedRun.of(ends, KEY))

    def early_ends(self, batch: pa.RecordBatch, rows: IntArray | None = None) -> IntArray:
        """The early end of each row by the tombstones so far; FOREVER if it has none."""
        columns = [_picked(batch[name].to_numpy(), rows) for name in self._ids]
        count = batch.num_rows if rows is None else len(rows)
        early = np.full(count, FOREVER)
        if not columns or not len(self._tombstones) or not count:
            return early
        keys = hash_columns([pa.array(column) for column in columns], count)
        for run in self._tombstones.overlapping():
            for probing, stored in run.equal_keys(keys):
                same = _same(columns, probing, run.batch, stored, self._ids)
                np.minimum.at(early, probing[same], run.batch[EARLY].to_numpy()[stored[same]])
        return early

    def add(self, rows: SortedRun) -> None:
        """Insert rows that are sorted already."""
        self.runs.add(rows)

    def settle(self, bound: int) -> None:
        """Purge rows whose lifetime is over at the bound, naturally or early: nothing can join them."""
        self._memory["bound"] = bound
        self._tombstones.settle(bound)
        grown = self._tombstones.rows - self._memory["swept_at"]
        if grown > max(TOMBSTONES_BEFORE_SWEEP, self.runs.rows // 4):
            self.runs.keep_where(lambda run: self.early_ends(run.batch) > bound)
            self._tombstones.keep_where(lambda run: run.batch[EARLY].to_numpy() > bound)
            self._memory["swept_at"] = self._tombstones.rows
        self.runs.settle(bound)

    def _stored(self, minus: pa.RecordBatch) -> Iterator[SortedRun]:
        """The stored live rows that retractions name, each with the `_d` of its retraction."""
        columns = [minus[name].to_numpy() for name in self._ids]
        for run in self.runs.overlapping(self._memory["bound"]):
            for probing, stored in run.same_start(minus):
                same = _same(columns, probing, run.batch, stored, self._ids)
                same &= run.ends[stored] > self._memory["bound"]
                if same.any():
                    ended = take_rows(run.plain(), stored[same])
                    early = pa.array(minus[EARLY].to_numpy()[probing[same]])
                    yield SortedRun(ended.append_column(EARLY, early))


def _picked(values: IntArray, rows: IntArray | None) -> IntArray:
    return values if rows is None else values[rows]


def _same(
    columns: Sequence[IntArray],
    probing: IntArray,
    batch: pa.RecordBatch,
    stored: IntArray,
    names: list[str],
) -> BoolArray:
    """Which pairs (probing row, stored row) agree in all named columns."""
    same = np.ones(len(probing), bool)
    for column, name in zip(columns, names, strict=True):
        same &= column[probing] == batch[name].to_numpy()[stored]
    return same


def _distinct(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """One row for each distinct value of the named int64 columns."""
    columns = [batch[name].to_numpy() for name in names]
    order = np.lexsort(columns)
    differs = np.ones(len(order), bool)
    differs[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    return take_rows(batch, order[differs])
