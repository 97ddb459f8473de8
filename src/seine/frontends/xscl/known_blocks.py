"""Blocks that were read before: a query of two of them is put together without being read again.

In a script of very many subscriptions most blocks repeat, while joins and T differ:

    S//item->v0[./title->v1] FOLLOWED BY{v1 = w1, 25} S//item->w0[./title->w1]
    └──── known ───────────┘            └─ read ────┘ └──── known ───────────┘

Law: the plan is the one that the parser would return, or None: whatever is not plain, a wrong query among
it, is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery

_MOST_BLOCKS_KNOWN = 1 << 16  # then all are forgotten
_QUERY = re.compile(
    r"\s*(?P<left>\S.*?)\s+(?P<operator>FOLLOWED\s+BY|JOIN)\s*\{(?P<pairs>[\w\s'=]*),\s*(?P<within>\w+)\s*\}"
    r"\s*(?P<right>\S.*?)\s*",
    re.DOTALL | re.IGNORECASE,
)
_AND = re.compile(r"\s+AND\s+", re.IGNORECASE)
_PAIR = re.compile(r"\s*([^\W\d]\w*'*)\s*=\s*([^\W\d]\w*'*)\s*")
_WHOLE = re.compile(r"[0-9]{1,18}")


class KnownBlocks:
    """Blocks by their text, each with the stream that it was read for."""

    def __init__(self) -> None:
        self._blocks: dict[str, DocumentBlock] = {}

    def remember(self, text: str, block: DocumentBlock) -> None:
        """A block as it was written, before join predicates changed it."""
        if len(self._blocks) >= _MOST_BLOCKS_KNOWN:
            self._blocks.clear()
        self._blocks[text] = block

    def query(self, text: str, streams: Mapping[str, StreamDef]) -> DocumentQuery | None:
        """The plan of a plain join of two known blocks; None if the text is anything else."""
        match = _QUERY.fullmatch(text)
        if match is None:
            return None
        left, right = (self._known(match[side], streams) for side in ("left", "right"))
        if left is None or right is None or left.input.stream.domain != right.input.stream.domain:
            return None
        pairs = _oriented(match["pairs"], left, right)
        within = _within(match["within"], right.input.stream)
        if pairs is None or within == -1:
            return None
        ordered = match["operator"][0] in "Ff"
        return DocumentQuery(DocumentJoin(left, right, ordered, pairs, within))

    def _known(self, text: str, streams: Mapping[str, StreamDef]) -> DocumentBlock | None:
        block = self._blocks.get(text)
        if block is None or streams.get(block.input.stream.name) is not block.input.stream:
            return None
        return block


def _oriented(text: str, left: DocumentBlock, right: DocumentBlock) -> tuple[tuple[str, str], ...] | None:
    """Equalities of a left variable and a right one; None if they are not all plain."""
    ours, theirs = left.pattern.variables, right.pattern.variables
    if not {*ours}.isdisjoint(theirs):
        return None
    pairs: dict[tuple[str, str], None] = {}
    for part in _AND.split(text):
        match = _PAIR.fullmatch(part)
        if match is None:
            return None
        one, other = match.groups()
        if one in ours and other in theirs:
            pairs[one, other] = None
        elif other in ours and one in theirs:
            pairs[other, one] = None
        else:
            return None
    return tuple(pairs)


def _within(text: str, stream: StreamDef) -> int | None:
    """A length of time, None for INF; -1 if it is not plain."""
    if text.upper() == "INF":
        return None
    return int(text) if _WHOLE.fullmatch(text) and stream.domain == "plain" else -1
