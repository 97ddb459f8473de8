"""The view cache: slices of R_L by string value, the least recently used ones forgotten first.

    string          R_L of that string (document, pair, parent, node)
    "Danny Ayers"   (d1, x1 x2, 0, 2)  (d4, x4 x5, 0, 2)
    ...             at most `capacity` rows in all

An arriving document whose string is cached extends the slice, whether or not another held document has that
string.

Differs: Algorithm 5 extends slices of the strings in STR alone. Once state is purged, a cached string may
have left R_doc; then a newcomer with it would be missing from the slice for good.

Cites: MMQJP 5 (Algorithm 5)
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from benchmarks.template_engines.materialised_views import StringWitnesses, value_joined, with_witnesses
from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import PairWitnesses
from seine.algebra.arrays import IntArray

Slice = list[PairWitnesses]  # pieces; they are put together when the slice is read


class ViewCache:
    """Slices of R_L by string; `hits` and `misses` count strings."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._slices: OrderedDict[int, Slice] = OrderedDict()
        self.rows = 0
        self.hits = 0
        self.misses = 0

    def extend(self, arriving: StringWitnesses) -> None:
        """Add the witnesses of arriving documents to the slices that are cached."""
        for string, piece in _slices(arriving):
            if string in self._slices:
                self._slices[string].append(piece)
                self.rows += len(piece.node)

    def read(self, held: WitnessIndex, strings: IntArray) -> StringWitnesses:
        """R_L of given strings, in order: cached slices; what is missing is computed from R_doc and R_bin."""
        missing = np.array([s for s in strings.tolist() if s not in self._slices], dtype=np.int64)
        self.misses += len(missing)
        self.hits += len(strings) - len(missing)
        for string, piece in _slices(with_witnesses(held, value_joined(held, missing))):
            self._slices[string] = [piece]
            self.rows += len(piece.node)
        kept = [
            (string, self._read(string, held.first)) for string in strings.tolist() if string in self._slices
        ]
        self._evict()
        return _together(kept)

    def _read(self, string: int, first: int) -> PairWitnesses:
        """The slice of a string, without documents that were purged; it is the most recently used one now."""
        pieces = self._slices[string]
        whole = PairWitnesses(*map(np.concatenate, zip(*pieces, strict=True)))
        alive = whole.take(np.flatnonzero(whole.document >= first))
        self.rows += len(alive.node) - len(whole.node)
        self._slices[string] = [alive]
        self._slices.move_to_end(string)
        return alive

    def _evict(self) -> None:
        while self.rows > self._capacity:
            _, pieces = self._slices.popitem(last=False)
            self.rows -= sum(len(piece.node) for piece in pieces)


def _slices(view: StringWitnesses) -> list[tuple[int, PairWitnesses]]:
    strings, starts = np.unique(view.string, return_index=True)
    bounds = np.append(starts, len(view.string))
    return [
        (string, PairWitnesses(*(column[start:end] for column in view.witnesses)))
        for string, start, end in zip(strings.tolist(), bounds[:-1], bounds[1:], strict=True)
    ]


def _together(slices: list[tuple[int, PairWitnesses]]) -> StringWitnesses:
    if not slices:
        empty = np.zeros(0, dtype=np.int64)
        return StringWitnesses(PairWitnesses(empty, empty, empty, empty), empty)
    sizes = [len(piece.node) for _, piece in slices]
    witnesses = PairWitnesses(*map(np.concatenate, zip(*(piece for _, piece in slices), strict=True)))
    return StringWitnesses(witnesses, np.repeat([string for string, _ in slices], sizes))
