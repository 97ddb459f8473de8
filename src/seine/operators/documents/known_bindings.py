"""What one batch of pairs knows of its documents: trees, bindings of blocks, values at paths.

    pairs (d1, d7) (d1, d9) (d2, d7)      d1 is parsed once, and each distinct block is evaluated on it once

Blocks are known by the identity of their pattern, and what is known of one is kept with it: a pattern that
the memo of forms has dropped, and another one in its place in memory, must not be taken for one another.

Law: what is known follows from texts and patterns alone; what is kept is bounded and changes no answer.
"""

from __future__ import annotations

from seine.algebra.tree_pattern import TreePattern
from seine.documents.document import Document
from seine.documents.match_pattern import PatternMatch, TooManyBindings, match_pattern
from seine.operators.documents.document_form import FormBlock
from seine.operators.documents.operand_bindings import MOST_BINDINGS, NodeBinding, PartialCombination
from seine.typed_json import json_decoder

MOST_COMPARED_CHARACTERS = 64_000_000  # of the distinct string values that one form compares in one document
_MOST_KEPT = 100_000_000  # weight of documents that are kept parsed: characters, and more for each tag
_WEIGHT_OF_TAG = 40


class KnownBindings:
    """Documents that were parsed, and what was evaluated on them; forgotten when they are too large."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._documents: dict[str, Document] = {}
        self._matches: dict[tuple[int, str], tuple[TreePattern, list[PatternMatch]]] = {}
        self._partials: dict[str, PartialCombination] = {}
        self._values: dict[tuple[int, str], tuple[TreePattern, frozenset[str] | None]] = {}
        self._weight = 0

    def of(self, block: FormBlock, text: str) -> list[NodeBinding]:
        """The bindings of a block in a document; blocks that differ in names have one pattern."""
        document = self._document(text)
        key = (id(block.pattern), text)
        known = self._matches.get(key)
        if known is None:  # kept with its pattern, so no other pattern is taken for it
            matches = match_pattern(block.pattern, document, MOST_BINDINGS)
            known = self._matches[key] = block.pattern, matches
        return [NodeBinding(document, block, *match) for match in known[1]]

    def values(self, path: TreePattern, text: str | None) -> frozenset[str] | None:
        """The string values at a path of a document; None if they are too many."""
        assert text is not None, "a form with a left block has a left document"
        document = self._document(text)
        key = (id(path), text)
        if key not in self._values:
            self._values[key] = path, _values_at(path, document)
        return self._values[key][1]

    def _document(self, text: str) -> Document:
        document = self._documents.get(text)
        if document is None:
            weight = len(text) + _WEIGHT_OF_TAG * text.count("<")
            if self._weight + weight > _MOST_KEPT:
                self._forget()
            self._weight += weight
            document = self._documents[text] = Document(text)
        return document

    def partial(self, text: str) -> PartialCombination:
        if text not in self._partials:
            self._partials[text] = json_decoder(PartialCombination).decode(text)
        return self._partials[text]


def _values_at(path: TreePattern, document: Document) -> frozenset[str] | None:
    """The string values at a path; None if they are too many, or too long together."""
    values: set[str] = set()
    room = MOST_COMPARED_CHARACTERS
    try:
        for match in match_pattern(path, document, MOST_BINDINGS):
            value = document.string(match.selected)
            if value not in values:
                values.add(value)
                room -= len(value)
            if room < 0:
                return None
    except TooManyBindings:
        return None
    return frozenset(values)
