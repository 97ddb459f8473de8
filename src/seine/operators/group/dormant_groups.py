"""Dormant groups: groups below every reader's HAVING COUNT(*), kept as pending events only, without state.

Everything that a group adds up to follows from the events that are still to come: over all time the events
of a row add up to nothing, so those that have been are the opposite of those to come. While a group is
dormant, only the queue of events has its rows. Rows are counted by slots of hashes; in a step in which the
rows of a slot may come to be enough, all of its groups wake up: the events to come, turned round, are put
before those that are due. What is awake is computed as ever.

Rows that never end by themselves have no event to come. The slots where they are stay awake for ever, and so
do all where so little comes in a step that looking at the queue costs more than it saves.

A counting filter for dormant groups: rows by slot of their group's hash, and which slots are active.

A slot is the leading bits of a hash, so the groups of a slot lie side by side in a table by hash. The
numbers are kept whole, with changes beside them as long as these are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.state.event_queue import TIME, WEIGHT, EventQueue, weights_of
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.rows.delta import NEVER

LEAST_SLOTS_PUT_TO_SLEEP = 64  # slots that may sleep again before any is put to sleep
MOST_SCANNED_PER_DUE_EVENT = 64  # pending events that may be scanned to wake groups, for each that was due,
MOST_SCANNED_AT_FIRST = 1 << 20  # and so many more, whatever was due
_SLOTS_PER_ROW = 8  # if one row is enough to wake a slot; fewer if it takes more rows

# The weights of the events that may wake a group, 0 for others.
Counted = Callable[[pa.RecordBatch], AnyArray]


class DormantGroups:
    """Which events of a step are worth a look, and which groups are put to sleep after it.

    Law: what is emitted is the same as if all groups were awake.
    """

    def __init__(self, store: Store, queue: EventQueue, least: int, counted: Counted) -> None:
        """`least` rows, by the weights of `counted`, make a group of which something is emitted."""
        self._store, self._queue = store, queue
        self._least, self._counted = least, counted
        self._slots: Slots | None = None

    def wake(self, due: list[pa.RecordBatch], unending: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Of due events those of groups that are awake, and before them what makes up those that wake up.

        `unending` are events that no queue keeps: the ends of rows that have arrived and never end.
        """
        slots = self._slots = Slots.load(self._store) if due or unending else None
        if slots is None:
            return due
        at = [slots.of(_hashes(batch)) for batch in due]
        touched, most, change = self._sums(due, at)
        pins = [slots.of(_hashes(batch)) for batch in unending]
        pinned = np.unique(np.concatenate(pins)) if pins else np.zeros(0, np.int64)
        calls = touched & (slots.rows + most >= self._least)
        calls[pinned] = True
        woken = calls & (slots.state == ASLEEP)
        if self._scans_too_much(sum(batch.num_rows for batch in due), woken.any()):
            woken, pinned = slots.state == ASLEEP, np.arange(len(slots))
        slots.rows += change.astype(np.int32)
        slots.state[woken] = AWAKE
        slots.state[pinned] = PINNED
        touched[pinned] = True
        slots.save(touched.nonzero()[0])
        kept = [
            _selected(batch, slots.state.take(places) != ASLEEP)
            for batch, places in zip(due, at, strict=True)
        ]
        if woken.any():
            everything = [*due, *unending, *self._queue.pending()]
            kept += [_turned(_selected(batch, woken.take(slots.of(_hashes(batch))))) for batch in everything]
        return [batch for batch in kept if batch.num_rows]

    def _scans_too_much(self, due: int, wakes: bool) -> bool:
        """Whether the queue was scanned too often for what came, so that everything is better awake."""
        tally = self._store.head.setdefault("woken", {"due": 0, "seen": 0})
        tally["due"] += due
        tally["seen"] += self._queue.size if wakes else 0
        return wakes and tally["seen"] > MOST_SCANNED_PER_DUE_EVENT * tally["due"] + MOST_SCANNED_AT_FIRST

    def settle(self, table: KeyedTable, forget: Callable[[pa.RecordBatch], None]) -> None:
        """After a step with events: put groups to sleep that may, and make more slots if rows are many."""
        if self._slots is None:
            self._begin(table, forget)
            return
        slots = self._slots
        unpinned = slots.state != PINNED
        if not unpinned.any():
            return
        bits = self._bits(int(slots.rows[unpinned].sum()))  # what is pinned needs no slots of its own
        if bits > slots.bits:
            rows, _ = self._to_come(bits)
            self._slots = Slots(self._store, bits, rows, np.repeat(slots.state, 1 << (bits - slots.bits)))
            self._slots.save()
        else:
            self._put_to_sleep(table, forget)

    def _begin(self, table: KeyedTable, forget: Callable[[pa.RecordBatch], None]) -> None:
        """Let everything sleep that may; where rows are not all in the queue, some never end."""
        bits = self._bits(int(self._to_come(1)[0].sum()))
        rows, everything = self._to_come(bits)
        slots = self._slots = Slots(self._store, bits, rows, np.zeros(1 << bits, np.int8))
        groups = table.everything()
        at = slots.of(_hashes(groups))
        held = np.bincount(at, groups["_n"].to_numpy(), len(slots)).astype(np.int64)
        slots.state[rows >= self._least] = AWAKE
        slots.state[at[_have_result(groups)]] = AWAKE
        slots.state[held != everything] = PINNED
        forget(_selected(groups, slots.state.take(at) == ASLEEP))
        slots.save()

    def _put_to_sleep(self, table: KeyedTable, forget: Callable[[pa.RecordBatch], None]) -> None:
        """Put slots to sleep of which hardly a row is left, if they are many."""
        slots = self._slots
        assert slots is not None
        awake = slots.state == AWAKE
        nearly_empty = (awake & (2 * slots.rows < self._least)).nonzero()[0]
        if len(nearly_empty) < LEAST_SLOTS_PUT_TO_SLEEP or 4 * len(nearly_empty) < np.count_nonzero(awake):
            return
        groups = table.scan(*slots.ranges(nearly_empty))
        at = slots.of(_hashes(groups))
        slots.state[nearly_empty] = ASLEEP
        slots.state[at[_have_result(groups)]] = AWAKE
        forget(_selected(groups, slots.state.take(at) == ASLEEP))
        slots.save(nearly_empty)

    def _bits(self, rows: int) -> int:
        return bits_for(rows * max(1, _SLOTS_PER_ROW // self._least))

    def _sums(self, due: list[pa.RecordBatch], at: list[AnyArray]) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Which slots have events, by how many rows they may grow, and by how many they do."""
        assert self._slots is not None
        size = len(self._slots)
        touched, most, change = np.zeros(size, bool), np.zeros(size, np.int64), np.zeros(size, np.int64)
        for batch, places in zip(due, at, strict=True):
            events, weights = np.bincount(places, minlength=size), self._counted(batch)
            touched |= events > 0
            if (weights == weights[0]).all():  # mostly all of a batch begin, or end
                events *= weights[0]
                change += events
                if weights[0] > 0:
                    most += events
            else:
                most += _by_slot(places, np.maximum(weights, 0), size)
                change += _by_slot(places, weights, size)
        return touched, most, change

    def _to_come(self, bits: int) -> tuple[AnyArray, AnyArray]:
        """The rows of each slot that are alive, by the queue: those that are counted, and all."""
        rows, everything = np.zeros(1 << bits, np.int32), np.zeros(1 << bits, np.int32)
        places = Slots(self._store, bits, rows, rows)
        for batch in self._queue.pending():
            at = places.of(_hashes(batch))
            rows -= _by_slot(at, self._counted(batch), len(rows))
            everything -= _by_slot(at, weights_of(batch), len(rows))
        return rows, everything


def _hashes(batch: pa.RecordBatch) -> IntArray:
    hashes: IntArray = batch[HASH].to_numpy()
    return hashes


def _have_result(groups: pa.RecordBatch) -> AnyArray:
    """Which groups have a row that is emitted."""
    return np.asarray(groups["_i0"].to_numpy() >= 0)


def _by_slot(at: AnyArray, weights: AnyArray, size: int) -> AnyArray:
    return np.bincount(at, weights, size).astype(np.int32)


def _selected(batch: pa.RecordBatch, mask: AnyArray) -> pa.RecordBatch:
    return batch if mask.all() else batch.take(pa.array(mask.nonzero()[0]))


def _turned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Events with their weights turned round, before all time."""
    times = pa.array(np.full(batch.num_rows, NEVER))
    weights = pa.array(-batch[WEIGHT].to_numpy())
    batch = batch.set_column(batch.schema.get_field_index(TIME), TIME, times)
    return batch.set_column(batch.schema.get_field_index(WEIGHT), WEIGHT, weights)


ASLEEP, AWAKE, PINNED = 0, 1, 2
FEWEST_SLOT_BITS, MOST_SLOT_BITS = 8, 20  # bits of a slot
_PART = 8  # changes are kept beside the whole until they are so large a part of it, or so many
_BITS = 64


class Slots:
    """The slots that `store.head["slots"]` remembers: `rows` in each, and its `state`."""

    def __init__(self, store: Store, bits: int, rows: AnyArray, state: AnyArray) -> None:
        self._store = store
        self.bits = bits
        self.rows, self.state = rows, state

    @staticmethod
    def load(store: Store) -> Slots | None:
        """The slots as they were saved, to be changed; None if there are none."""
        kept: dict[str, Any] | None = store.head.get("slots")
        if kept is None:
            return None
        whole = store.get(kept["whole"])
        rows, state = (whole[name].to_numpy().copy() for name in ("rows", "state"))
        for name in kept["changes"]:
            change = store.get(name)
            places = change["slot"].to_numpy()
            rows[places], state[places] = change["rows"].to_numpy(), change["state"].to_numpy()
        return Slots(store, kept["bits"], rows, state)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, hashes: AnyArray) -> AnyArray:
        """The slot of each hash, ascending with it.

        >>> from seine.operators.state.store import MemoryStore
        >>> numbers = np.zeros(4, np.int32)
        >>> Slots(MemoryStore(), 2, numbers, numbers).of(np.array([-2**63, -1, 0, 2**63 - 1])).tolist()
        [0, 1, 2, 3]
        """
        return (hashes >> (_BITS - self.bits)) + (1 << (self.bits - 1))

    def ranges(self, slots: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The least and the greatest hash of each slot."""
        low = (slots - (1 << (self.bits - 1))) << (_BITS - self.bits)
        return low, low + np.int64((1 << (_BITS - self.bits)) - 1)

    def save(self, changed: AnyArray | None = None) -> None:
        """Keep the numbers; `changed` are the slots with others than when they were loaded, None if all."""
        kept = self._store.head.get("slots")
        if kept is None or changed is None or not self._is_little(kept, len(changed)):
            self._save_whole(kept)
        elif len(changed):
            columns = {"slot": changed, "rows": self.rows.take(changed), "state": self.state.take(changed)}
            kept["changes"].append(self._store.put(pa.record_batch(columns)))
            kept["changed"] += len(changed)

    def _is_little(self, kept: dict[str, Any], more: int) -> bool:
        same = kept["bits"] == self.bits and len(kept["changes"]) < _PART
        return bool(same and (kept["changed"] + more) * _PART < len(self))

    def _save_whole(self, before: dict[str, Any] | None) -> None:
        for name in [before["whole"], *before["changes"]] if before else []:
            self._store.drop(name)
        whole = self._store.put(pa.record_batch({"rows": self.rows, "state": self.state}))
        self._store.head["slots"] = {"bits": self.bits, "whole": whole, "changes": [], "changed": 0}


def bits_for(rows: int) -> int:
    """Enough bits for a slot for every row, within limits.

    >>> bits_for(5), bits_for(1000), bits_for(10**9)
    (8, 10, 20)
    """
    return min(MOST_SLOT_BITS, max(FEWEST_SLOT_BITS, rows.bit_length()))
