"""The states of an XSCL query: documents that wait for others, and what frees them.

A join of documents within T frees a document T after its time. However long (INF), only a window frees it:
FOLLOWED BY keeps the documents of its left side, JOIN those of both sides. A right document of FOLLOWED BY
waits only until the left side's watermark has passed it. Punctuations are of columns and say nothing of
what is inside documents.
"""

from __future__ import annotations

from collections.abc import Iterator

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import PUBLISHED, DocumentJoin, DocumentQuery, blocks_of
from seine.safety.states.operator_states import State


def document_states(plan: DocumentQuery) -> Iterator[State]:
    """Every state of a query of documents, the outermost join first."""
    for join in _joins(plan):
        word = "FOLLOWED BY" if join.ordered else "JOIN"
        yield _waiting(f"documents left of {word}", _left_streams(join), join.within is not None)
        right = [join.right.input.stream]
        if join.ordered:
            aliases = (right[0].name,)
            yield State(f"documents right of {word}", aliases, True, lambda: "freed by the left's watermark")
        else:
            yield _waiting(f"documents right of {word}", right, join.within is not None)


def document_cure(plan: DocumentQuery) -> str:
    """The windows that would make a query safe, in one line; a length of time always does."""
    windows = []
    for join in _joins(plan):
        if join.within is None:
            sides = (
                [_left_streams(join)] if join.ordered else [_left_streams(join), [join.right.input.stream]]
            )
            windows += [side[0] for side in sides if all(stream.window is None for stream in side)]
    words = " and ".join(dict.fromkeys(map(_window_words, windows)))
    return f"declare {words}, or write a length of time instead of INF"


def _window_words(stream: StreamDef) -> str:
    is_published = stream.source is not None and stream.source.format == PUBLISHED
    return f"a WINDOW on {'a stream that makes ' if is_published else ''}{stream.name}"


def _waiting(what: str, streams: list[StreamDef], is_timed: bool) -> State:
    expires = any(stream.window is not None for stream in streams)
    words = (
        "freed when T has passed" if is_timed else "freed by windows" if expires else "never freed: T is INF"
    )
    aliases = tuple(dict.fromkeys(stream.name for stream in streams))
    return State(what, aliases, is_timed or expires, lambda: words)


def _joins(plan: DocumentQuery) -> Iterator[DocumentJoin]:
    operand = plan.input
    while isinstance(operand, DocumentJoin):
        yield operand
        operand = operand.left


def _left_streams(join: DocumentJoin) -> list[StreamDef]:
    return [block.input.stream for block in blocks_of(join.left)]
