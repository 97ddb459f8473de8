"""A cache of syntax trees of whole queries: one that differs from a known one in digits is not parsed.

Law: the tree equals the one that the parser makes of the text, positions included, because a known text has
digits in just the same places, and what the parser does with a number does not depend on its value. Where a
number does not come out of the parser as it was written, nothing is shared.
"""

from __future__ import annotations

import re

from sqlglot import exp

from seine.frontends.sql.plain_spellings import plain_spellings
from seine.frontends.sql.syntax_tree import written_tree
from seine.frontends.text.source_text import ScriptText

_NUMBER = re.compile(r"""(?<![\w."'`$])\d+(?:\.\d+)?(?![\w."'`$])""", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_MAX_TREES = 1 << 12

_KnownTree = tuple[exp.Expr, list[exp.Literal]]  # a tree, and its numbers in their order in the text


class SkeletonTrees:
    """Syntax trees of texts by their shape: the text with a 0 for each digit of its numbers."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownTree | None] = {}

    def tree(self, source: ScriptText, start: int, end: int) -> exp.Expr:
        """The tree of the query between two offsets, for the caller to keep; that of `syntax_tree`.

        What is known are trees as they are written: plain spellings may depend on the values of numbers.

        >>> trees, texts = SkeletonTrees(), ["SELECT a FROM s HAVING a > 17", "SELECT a FROM s HAVING a > 23"]
        >>> [trees.tree(ScriptText(text, ""), 0, len(text)).args["having"].sql() for text in texts]
        ['HAVING a > 17', 'HAVING a > 23']
        """
        return plain_spellings(self._written(source, start, end))

    def _written(self, source: ScriptText, start: int, end: int) -> exp.Expr:
        text = source.text[start:end]
        numbers = [*_NUMBER.finditer(text)]
        if not numbers:
            return written_tree(source, start, end)
        shape = _NUMBER.sub(lambda number: _DIGIT.sub("0", number.group()), text)
        if shape not in self._known:
            return self._parsed(shape, numbers, source, start, end)
        known = self._known[shape]
        if known is None:
            return written_tree(source, start, end)
        tree, literals = known
        for literal, number in zip(literals, numbers, strict=True):
            literal.set("this", number.group())
        return tree.copy()

    def _parsed(
        self, shape: str, numbers: list[re.Match[str]], source: ScriptText, start: int, end: int
    ) -> exp.Expr:
        """A tree that is parsed, and known from now on."""
        tree = written_tree(source, start, end)
        if len(self._known) >= _MAX_TREES:
            self._known.clear()
        kept = tree.copy()
        literals = [one for one in kept.find_all(exp.Literal) if "start" in one.meta and not one.is_string]
        literals.sort(key=lambda one: int(one.meta["start"]))
        parsed = [(one.meta["start"], one.this) for one in literals]
        written = [(number.start(), number.group()) for number in numbers]
        self._known[shape] = (kept, literals) if parsed == written else None
        return tree
