"""A memo of blocks by their text: subscriptions by the thousand are put together from blocks that were read.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]
    ---------- left --------             - pairs - T  --------- right --------

Law: what is returned is what `parse_xscl` would return; None leaves the text to it, so that every refusal
and everything unusual (SELECT, PUBLISH, paths in conditions, intervals, several operators) is read there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText
from seine.frontends.xscl.parse_xscl import LONGEST_TIME, parse_xscl
from seine.frontends.xscl.xscl_reader import VARIABLE

MOST_BLOCKS_KNOWN = 1 << 16  # then all are forgotten
_PAIR = rf"({VARIABLE.pattern})\s*=\s*({VARIABLE.pattern})"
_UNUSUAL = -1  # as T: the parser decides
_EACH_PAIR = re.compile(_PAIR)
_PAIRS = re.compile(rf"\s*{_PAIR}(?:\s+AND\s+{_PAIR})*\s*", re.IGNORECASE)
_OPERATOR = re.compile(r"\b(FOLLOWED\s+BY|JOIN)\s*\{", re.IGNORECASE)


class KnownBlocks:
    """Blocks over some streams, declared and published, which do not change."""

    def __init__(self, streams: Mapping[str, StreamDef]) -> None:
        self._streams = streams
        self._blocks: dict[str, DocumentBlock | None] = {}

    def query(self, source: ScriptText, start: int, end: int) -> DocumentQuery:
        """Parse the query between two offsets."""
        query = self._put_together(source.text[start:end])
        return parse_xscl(source, start, end, self._streams) if query is None else query

    def _put_together(self, text: str) -> DocumentQuery | None:
        operator = _OPERATOR.search(text)
        if operator is None or text.count("{") > 1 or text.count("}") > 1:
            return None
        condition, _, after = text[operator.end() :].partition("}")
        pairs, _, time = condition.rpartition(",")
        if _PAIRS.fullmatch(pairs) is None:
            return None
        left, right = self._block(text[: operator.start()].strip()), self._block(after.strip())
        if left is None or right is None or left.input.stream.domain != right.input.stream.domain:
            return None
        equalities = _oriented(left, right, _EACH_PAIR.findall(pairs))
        within = _within(time.strip(), right)
        if equalities is None or within == _UNUSUAL:
            return None
        return DocumentQuery(DocumentJoin(left, right, operator[1][0] in "Ff", equalities, within))

    def _block(self, text: str) -> DocumentBlock | None:
        """The block that a text is by itself; None if it is anything else."""
        if text not in self._blocks:
            if len(self._blocks) >= MOST_BLOCKS_KNOWN:
                self._blocks.clear()
            self._blocks[text] = self._read(text)
        return self._blocks[text]

    def _read(self, text: str) -> DocumentBlock | None:
        try:
            query = parse_xscl(ScriptText(text, ""), 0, len(text), self._streams)
        except ScriptError:
            return None
        is_block = query.select is None and query.publish is None and isinstance(query.input, DocumentBlock)
        return query.blocks[0] if is_block else None


def _within(text: str, block: DocumentBlock) -> int | None:
    """T; None if it is infinite."""
    if text.upper() == "INF":
        return None
    is_plain = block.input.stream.domain == "plain" and text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_plain and int(text) < LONGEST_TIME else _UNUSUAL


def _oriented(
    left: DocumentBlock, right: DocumentBlock, pairs: list[tuple[str, str]]
) -> tuple[tuple[str, str], ...] | None:
    """The pairs as (left variable, right variable); None if one relates anything else."""
    ours, theirs = left.pattern.reported, right.pattern.reported
    if any(name in theirs for name in ours):
        return None
    oriented: dict[tuple[str, str], None] = {}
    for one, other in pairs:
        if one in ours and other in theirs:
            oriented[one, other] = None
        elif other in ours and one in theirs:
            oriented[other, one] = None
        else:
            return None
    return tuple(oriented)
