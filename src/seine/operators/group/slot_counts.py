"""A counting filter for dormant groups: rows by slot of their group's hash, and which slots are active.

A slot is the leading bits of a hash, so the groups of a slot lie side by side in a table by hash. The
numbers are kept whole, with changes beside them as long as these are few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.state.store import Store

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
