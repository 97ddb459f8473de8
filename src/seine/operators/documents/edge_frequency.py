"""How frequent the edges of a document join are, by samples of the documents that arrive.

    channel = channel    1,700 matches of a document    level 6
    title = title        one match of 20 documents      level 0

Of each step a few of the new right documents are looked up in the index of left ones, those that are held and
those that arrived with them: segments say how many rows have a value, so nothing is paired. The counts are
kept in the state. An edge's *level* is the logarithm of the matches of a document, coarse enough to be
steady: all edges with less than one match in two documents are alike, however many there are. Levels order
the edges of classes: a pair of documents is formed by the rarest edge of a class, so a value that very many
documents have costs only queries that ask for nothing rarer.

Law: no answer depends on levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.documents.held_documents import (
    INDEX_DOCUMENT,
    INDEX_PATTERN,
    FlatWitnesses,
    NewDocuments,
    spread,
)
from seine.operators.documents.join_classes import JoinClasses, known_places
from seine.operators.documents.value_segments import segments_of
from seine.operators.state.sorted_run import ProbeKeys, SortedRun
from seine.rows.grouping import ranges

_SAMPLED_DOCUMENTS = 64  # of one step
_MOST_DOCUMENTS_COUNTED = 2_048  # then older samples count half
_LEAST_MATCHES = 4  # fewer may be chance


class EdgeFrequency:
    """The counts of one orientation, in the state of its join."""

    def __init__(self, classes: JoinClasses, kept: dict[str, Any]) -> None:
        self._classes, self._counts = classes, kept
        kept.setdefault("documents", 0)
        kept.setdefault("edges", {})

    def sample(self, right: NewDocuments, fresh: SortedRun | None, held: Iterable[SortedRun]) -> None:
        """Look new right documents up in the index of left ones, of the same step and of earlier ones."""
        chosen = np.argsort(right.keys, kind="stable")[:_SAMPLED_DOCUMENTS]
        witnesses = right.witnesses.at(chosen)
        witnesses = witnesses.take(known_places(witnesses.pattern, self._classes.right_patterns))
        probe = ProbeKeys(spread(witnesses.value))
        matches = np.zeros(len(self._classes.codes), np.int64)
        for run in held:
            matches += self._matches(run, witnesses, probe)
        if fresh is not None:
            matches += self._matches(fresh, witnesses, probe, right.keys[chosen])
        self._add(matches, len(chosen))

    def _matches(
        self, run: SortedRun, witnesses: FlatWitnesses, probe: ProbeKeys, documents: IntArray | None = None
    ) -> IntArray:
        """How many rows of a run match along each edge; `documents` if some may be the sampled ones."""
        segments = segments_of(run, probe)
        left = run.batch[INDEX_PATTERN].to_numpy()[segments.low]
        edges = self._classes.places(left, witnesses.pattern[segments.probe])
        sizes = segments.high - segments.low
        if documents is not None:
            ours = documents[witnesses.document[segments.probe]]
            for numbers, rows in ranges(segments.low, segments.high):
                itself = run.batch[INDEX_DOCUMENT].to_numpy()[rows] == ours[numbers]
                sizes -= np.bincount(numbers[itself], minlength=len(sizes))
        known = edges >= 0
        counts = np.bincount(edges[known], sizes[known], len(self._classes.codes))
        return counts.astype(np.int64)

    def _add(self, matches: IntArray, documents: int) -> None:
        counts = self._counts
        if counts["documents"] > _MOST_DOCUMENTS_COUNTED:
            counts["documents"] //= 2
            counts["edges"] = {code: count // 2 for code, count in counts["edges"].items() if count > 1}
        counts["documents"] += documents
        hit = np.flatnonzero(matches)
        for code, number in zip(self._classes.codes[hit].tolist(), matches[hit].tolist(), strict=True):
            counts["edges"][str(code)] = counts["edges"].get(str(code), 0) + number

    def levels(self) -> IntArray:
        """The level of each edge."""
        classes, counts = self._classes, self._counts
        levels = np.zeros(len(classes.codes), np.int64)
        matched = {int(code): n for code, n in counts["edges"].items() if n >= _LEAST_MATCHES}
        if matched:
            codes = np.array(sorted(matched), np.int64)
            each = np.array([matched[code] for code in codes.tolist()]) / max(counts["documents"], 1)
            places = np.searchsorted(classes.codes, codes)
            places[places == len(classes.codes)] = 0
            known = classes.codes[places] == codes
            steps = np.ceil(np.maximum(np.log2(each) + 1, 0) / 2).astype(np.int64)
            levels[places[known]] = steps[known]
        return levels
