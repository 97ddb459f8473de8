"""The parser of XSCL, a join language of XML documents, to an XsclQuery.

query     = [SELECT * FROM] block operator block [PUBLISH name]
operator  = (FOLLOWED BY | JOIN) "{" equality {AND equality} "," (number | INF) "}"
block     = stream step {step}
step      = ("/" | "//") ["@"] (name | "*") ["->" variable] {"[" path "]"}
path      = ["." ("/" | "//")] first step, then steps
"""

from __future__ import annotations

import re
from collections.abc import Collection

from seine.errors import ScriptError
from seine.frontends.text.names import suggest
from seine.frontends.text.source_text import ScriptText
from seine.frontends.xscl.tree_patterns import PathStep, TreePattern, XsclQuery, variables

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d](?:[\w.]|-(?!>))*(?::[^\W\d](?:[\w.]|-(?!>))*)?")
_WORD = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"[^\W\d]\w*'*")
_NUMBER = re.compile(r"\d+(?![\w.])")


class _PatternReader:
    """A scanner of the text of one query by regular expressions, skipping white space."""

    def __init__(self, source: ScriptText, start: int, end: int) -> None:
        self.source = source
        self.at = start
        self.end = end
        self._skip_space()

    def _skip_space(self) -> None:
        match = _SPACE.match(self.source.text, self.at, self.end)
        assert match is not None
        self.at = match.end()

    def accept(self, pattern: re.Pattern[str]) -> str | None:
        """Consume a match of a pattern and return it; None if there is none here."""
        match = pattern.match(self.source.text, self.at, self.end)
        if match is None:
            return None
        self.at = match.end()
        self._skip_space()
        return match.group()

    def symbol(self, text: str) -> bool:
        """Consume a symbol if it comes next; whether it did."""
        if not self.source.text.startswith(text, self.at, self.end):
            return False
        self.at += len(text)
        self._skip_space()
        return True

    def words(self, *words: str) -> bool:
        """Consume these keywords if all of them come next; whether they did."""
        start = self.at
        for word in words:
            if (self.accept(_WORD) or "").upper() != word:
                self.at = start
                return False
        return True

    def expect(self, pattern: re.Pattern[str], what: str) -> str:
        """Consume a match of a pattern, or raise."""
        text = self.accept(pattern)
        if text is None:
            raise self.error(f"expected {what}, found {self.rest()}")
        return text

    def expect_symbol(self, text: str) -> None:
        """Consume a symbol, or raise."""
        if not self.symbol(text):
            raise self.error(f"expected {text!r}, found {self.rest()}")

    def rest(self) -> str:
        """The start of the remaining text, for an error."""
        text = self.source.text[self.at : min(self.end, self.at + 12)].split("\n")[0]
        return repr(text) if text.strip() else "the end of the query"

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> ScriptError:
        """An error at an offset (by default the current one), to be raised."""
        return self.source.error(self.at if at is None else at, message, hint)


def parse_xscl(
    source: ScriptText, start: int, end: int, xml: Collection[str], other: Collection[str]
) -> XsclQuery:
    """Parse the query between two offsets; `xml` are the streams of documents, `other` all others."""
    reader = _PatternReader(source, start, end)
    if reader.words("SELECT"):
        reader.expect_symbol("*")
        if not reader.words("FROM"):
            raise reader.error(f"expected FROM, found {reader.rest()}")
    left = _read_block(reader, xml, other)
    ordered = _read_operator(reader)
    place, pairs, within = reader.at, *_read_condition(reader)
    right = _read_block(reader, xml, other)
    publish = reader.expect(_WORD, "the name of the stream to publish") if reader.words("PUBLISH") else None
    if reader.at < reader.end:
        raise reader.error(f"expected the end of the query, found {reader.rest()}")
    equalities = tuple(_oriented(reader, left, right, pair, place) for pair in pairs)
    return XsclQuery(left, right, ordered, equalities, within, publish and publish.lower())


def _read_operator(reader: _PatternReader) -> bool:
    if reader.words("FOLLOWED", "BY"):
        return True
    if reader.words("JOIN"):
        return False
    raise reader.error(f"expected FOLLOWED BY or JOIN, found {reader.rest()}")


def _read_condition(reader: _PatternReader) -> tuple[list[tuple[str, str]], int | None]:
    reader.expect_symbol("{")
    pairs = [_read_equality(reader)]
    while reader.words("AND"):
        pairs.append(_read_equality(reader))
    if not reader.symbol(","):
        raise reader.error(
            f"expected AND or ',', found {reader.rest()}", "write {x = y AND ..., T}, T a number or INF"
        )
    within = None if reader.words("INF") else int(reader.expect(_NUMBER, "a whole number or INF"))
    reader.expect_symbol("}")
    return pairs, within


def _read_equality(reader: _PatternReader) -> tuple[str, str]:
    left = reader.expect(_VARIABLE, "a variable")
    if not reader.symbol("="):
        raise reader.error(
            f"expected '=', found {reader.rest()}", "a condition is a conjunction of equalities"
        )
    return left, reader.expect(_VARIABLE, "a variable")


def _oriented(
    reader: _PatternReader, left: TreePattern, right: TreePattern, pair: tuple[str, str], place: int
) -> tuple[str, str]:
    """The pair as (left variable, right variable), in whichever order it was written."""
    ours, theirs = set(variables(left.steps)), set(variables(right.steps))
    both = ours & theirs
    if both:
        raise reader.error(f"variable {min(both)} is bound in both blocks", at=place)
    for name in pair:
        if name not in ours | theirs:
            raise reader.error(f"no variable {name}", suggest(name, ours | theirs, "variables"), at=place)
    a, b = pair
    if (a in ours) == (b in ours):
        raise reader.error(f"{a} = {b} does not relate the two blocks", at=place)
    return (a, b) if a in ours else (b, a)


def _read_block(reader: _PatternReader, xml: Collection[str], other: Collection[str]) -> TreePattern:
    start = reader.at
    written = reader.expect(_WORD, "a stream")
    stream = written.lower()
    if stream in other:
        raise reader.error(f"stream {written} has no XML column", at=start)
    if stream not in xml:
        raise reader.error(f"no stream {written}", suggest(written, xml, "streams of XML"), at=start)
    steps = _read_steps(reader)
    if not steps:
        raise reader.error(f"expected '/' or '//', found {reader.rest()}")
    bound = list(variables(steps))
    if len(set(bound)) < len(bound):
        raise reader.error("a block binds each variable once", at=start)
    return TreePattern(stream, steps)


def _read_steps(reader: _PatternReader) -> tuple[PathStep, ...]:
    steps = []
    while (axis := _read_axis(reader)) is not None:
        steps.append(_read_step(reader, axis))
    return tuple(steps)


def _read_axis(reader: _PatternReader) -> str | None:
    return "//" if reader.symbol("//") else "/" if reader.symbol("/") else None


def _read_step(reader: _PatternReader, axis: str) -> PathStep:
    is_attribute = reader.symbol("@")
    name = "*" if reader.symbol("*") else reader.expect(_NAME, "a name or *")
    variable = reader.expect(_VARIABLE, "a variable") if reader.symbol("->") else None
    predicates = []
    while reader.symbol("["):
        predicates.append(_read_path(reader))
        reader.expect_symbol("]")
    return PathStep(axis, name, is_attribute, variable, tuple(predicates))


def _read_path(reader: _PatternReader) -> tuple[PathStep, ...]:
    """A path within a predicate: it starts at a child unless it says .// ."""
    axis: str | None = "/"
    if reader.symbol("."):
        axis = _read_axis(reader)
        if axis is None:
            raise reader.error(f"expected '/' or '//', found {reader.rest()}")
    assert axis is not None
    return (_read_step(reader, axis), *_read_steps(reader))
