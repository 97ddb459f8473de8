"""Stage 1: the string values at all wanted paths of a document, in one pass for all queries.

Law: a document has a witness (p, hash(v)) if and only if the path pattern p leads to a node with the string
value v. Predicates are not asked, so a witness is *enough* for a candidate and proves nothing. Of a long
value the beginning alone is hashed: equal values have equal hashes, and that is all that is needed.

    //book//author = 0, //book//title = 1

    <book><author>Ann</author><author>Bob</author><title>XML</title></book>
    (0, hash "Ann") (0, hash "Bob") (1, hash "XML")

The walk is a loop over elements in Python, as libxml2's tree has no columns; what follows it, hashing and
the spreading of label paths to patterns, is done for all documents of a batch at once.

Cites: MMQJP 3.1 (witnesses of all tree patterns)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from lxml import etree

from seine.algebra.arrays import IntArray
from seine.documents.document import string_value
from seine.documents.parsed_documents import PARSED
from seine.documents.path_automaton import LabelPath, PathAutomaton, PathPattern
from seine.rows.hashing import hash_columns, mix

_SPREAD = 1 << 32  # documents of a batch and sets of patterns are fewer
LONGEST_HASHED = 4_096  # characters; of a longer value these


@dataclass(frozen=True)
class PathWitnesses:
    """The witnesses of a batch of documents: those of document i are at [offsets[i], offsets[i + 1]).

    Each is there once.
    """

    offsets: IntArray
    patterns: IntArray
    values: IntArray


class WitnessFinder:
    """Finds the witnesses of documents for path patterns by number; remembers label paths between calls."""

    def __init__(self, patterns: Mapping[int, PathPattern], any_namespace: bool = False) -> None:
        self._automaton = PathAutomaton(patterns, any_namespace)

    def find(self, texts: Sequence[str | None]) -> PathWitnesses:
        """The witnesses of documents that intake has accepted; None has none.

        >>> finder = WitnessFinder({7: (("//", "b", False),)})
        >>> found = finder.find(["<a><b>x</b><b>x</b></a>", None, "<b/>"])
        >>> found.offsets.tolist(), found.patterns.tolist()
        ([0, 1, 1, 2], [7, 7])
        """
        sets: list[int] = []  # of patterns, by number
        strings: list[str] = []
        counts = [0]
        for text in texts:
            if text is not None:
                self._walk(PARSED.root(text), sets, strings)
            counts.append(len(sets))
        return self._spread(np.array(counts), np.array(sets, np.int64), strings)

    def _walk(self, root: etree._Element, sets: list[int], strings: list[str]) -> None:
        """Note the pattern set of every wanted node, and the beginning of its string value."""
        automaton = self._automaton
        ahead = [(root, automaton.document)]
        while ahead:
            element, above = ahead.pop()
            name = element.tag
            state = above.below.get(name) or automaton.child(above, name)
            inner = len(element)
            if state.number >= 0:
                sets.append(state.number)
                strings.append((string_value(element) if inner else element.text or "")[:LONGEST_HASHED])
            if state.attributes is not None:
                self._note_attributes(element, state, sets, strings)
            if inner and not state.is_dead_end:
                ahead += [(child, state) for child in element]

    def _note_attributes(
        self, element: etree._Element, state: LabelPath, sets: list[int], strings: list[str]
    ) -> None:
        assert state.attributes is not None
        for name, value in element.items():
            number = state.attributes.get(name)
            if number is None:
                number = self._automaton.attribute(state, name)
            if number >= 0:
                sets.append(number)
                strings.append(value[:LONGEST_HASHED])

    def _spread(self, counts: IntArray, sets: IntArray, strings: list[str]) -> PathWitnesses:
        """From sets of patterns to patterns, each distinct witness of a document once."""
        values = np.zeros(0, np.int64)
        if len(sets):
            values = hash_columns([pa.array(strings, pa.large_string())], len(sets))
        documents = np.repeat(np.arange(len(counts) - 1), np.diff(counts))
        documents, sets, values = _distinct(documents, sets, values)
        sizes = np.array([len(one) for one in self._automaton.pattern_sets], np.int64)
        starts = np.cumsum(sizes) - sizes
        members = np.array([number for one in self._automaton.pattern_sets for number in one], np.int64)
        repeats = sizes[sets]
        rows = np.repeat(np.arange(len(sets)), repeats)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        patterns = members[starts[sets][rows] + within]
        documents, values = documents[rows], values[rows]
        if len(np.unique(members)) < len(members):  # two sets have a pattern in common
            documents, patterns, values = _distinct(documents, patterns, values)
        return PathWitnesses(np.searchsorted(documents, np.arange(len(counts))), patterns, values)


def _distinct(documents: IntArray, keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct rows, still by document. Mostly all are, and one sort of their hashes says so."""
    hashes = np.sort(mix((documents * _SPREAD + keys).view(np.uint64)) + values.view(np.uint64))
    if not np.any(hashes[1:] == hashes[:-1]):
        return documents, keys, values
    order = np.lexsort((values, keys, documents))
    documents, keys, values = documents[order], keys[order], values[order]
    new = np.ones(len(order), bool)
    new[1:] = (documents[1:] != documents[:-1]) | (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    return documents[new], keys[new], values[new]
