"""The documents of a record of an XSCL query, found among the recent rows, with the nodes that it binds.

A record has the numbers of the nodes and the times of its operands, not its documents. Law: what is told are
documents of the query's streams, of these times, in which the patterns of the blocks have these bindings and
the joined variables equal values; where several combinations fit, the newest, and how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.plan import Plan, walk
from seine.algebra.types import Kind
from seine.documents.document import Document, DocumentNode, number_of
from seine.documents.match_pattern import TooManyBindings, match_pattern
from seine.errors import SeineError
from seine.rows.delta import data_names
from seine.service.console.console_answers import BoundDocument, BoundDocumentsAnswer

_MOST_TRIED = 200  # documents of a block
_MOST_BINDINGS = 1000  # of a pattern in a document
_MOST_COMBINATIONS = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Recent = Callable[[str], list[pa.RecordBatch]]  # by the name of a stream
Bindings = Mapping[str, int | str]


class _Fitting(NamedTuple):
    """A document in which a block has the bindings of a record, by all variables, hidden ones too."""

    text: str
    document: Document
    nodes: Mapping[str, DocumentNode]


def read_bindings(text: str) -> Bindings:
    """The bindings of a record, as it has them."""
    try:
        bindings = json.loads(text)
    except (ValueError, RecursionError):
        bindings = None
    if not isinstance(bindings, dict) or not all(type(node) in (int, str) for node in bindings.values()):
        raise SeineError("the bindings are no object of numbers and texts", hint='{"x": 2, "y": "3/@id"}')
    return bindings


def bound_documents(
    plan: Plan, times: tuple[str | None, str], bindings: Bindings, recent: Recent
) -> BoundDocumentsAnswer:
    """The documents of a record, of the times of its left and its right operand."""
    if not isinstance(plan, DocumentQuery):
        raise SeineError("this query binds no nodes of documents", hint="XSCL queries do")
    blocks = plan.blocks
    fitting = [
        [*islice(_fitting(block, *_instants(plan, times, place), bindings, recent), _MOST_COMBINATIONS)]
        for place, block in enumerate(blocks)
    ]
    equalities = [pair for part in walk(plan) if isinstance(part, DocumentJoin) for pair in part.equalities]
    combinations = [*_combinations([one or [None] for one in fitting], equalities)]
    chosen = combinations[0] if combinations else [None] * len(blocks)
    return {
        "documents": [_answer(block, one) for block, one in zip(blocks, chosen, strict=True)],
        "equal": [list(pair) for pair in equalities],
        "fitting": len(combinations) if all(fitting) else 0,
    }


def _answer(block: DocumentBlock, one: _Fitting | None) -> BoundDocument:
    nodes = {} if one is None else {name: number_of(node) for name, node in one.nodes.items()}
    return {
        "stream": block.input.stream.name,
        "text": None if one is None else one.text,
        "nodes": nodes,
        "hidden": [name for name in block.pattern.variables if name not in block.pattern.reported],
    }


def _instants(plan: DocumentQuery, times: tuple[str | None, str], place: int) -> tuple[int, bool]:
    """The time of a block's document, and whether it may be earlier: that of a combination is its latest."""
    count = len(plan.blocks)
    text = times[1] if place == count - 1 else times[0]
    if text is None:
        raise SeineError("the record of a join has a left time", hint="left=...&right=...")
    return _instant(text, plan.time_type.kind), count > 2 and place < count - 1


def _instant(text: str, kind: Kind) -> int:
    try:
        if kind is Kind.TIMESTAMP:
            return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
        return int(np.int64(int(text)))
    except (ValueError, TypeError, OverflowError):  # a time without a zone is none
        raise SeineError(f"'{text[:100]}' is no time of this query's streams") from None


def _fitting(
    block: DocumentBlock, instant: int, earlier: bool, bindings: Bindings, recent: Recent
) -> Iterator[_Fitting]:
    """The recent documents of a block in which it has the bindings, the newest first."""
    wanted = [bindings.get(name) for name in block.pattern.reported]
    for text in islice(_texts(block, instant, earlier, recent), _MOST_TRIED):
        document = Document(text)
        try:
            matches = match_pattern(block.pattern, document, _MOST_BINDINGS)
        except TooManyBindings:
            continue
        for match in matches:
            nodes = dict(zip(block.pattern.variables, match.nodes, strict=True))
            if [number_of(nodes[name]) for name in block.pattern.reported] == wanted:
                yield _Fitting(text, document, nodes)


def _texts(block: DocumentBlock, instant: int, earlier: bool, recent: Recent) -> Iterator[str]:
    stream = block.input.stream
    names = data_names(len(stream.fields))
    for piece in reversed(recent(stream.name)):
        times = pc.cast(piece.column(names[stream.time]), pa.int64())
        fits = pc.less_equal(times, instant) if earlier else pc.equal(times, instant)
        yield from reversed(piece.column(names[block.column]).filter(fits).drop_null().to_pylist())


def _combinations(
    fitting: Sequence[Sequence[_Fitting | None]], equalities: Sequence[tuple[str, str]]
) -> Iterator[list[_Fitting | None]]:
    """Those whose joined variables have equal values; of a block without a document nothing is asked."""
    for combination in islice(product(*fitting), _MOST_COMBINATIONS):
        values = {
            name: one.document.string(node) for one in combination if one for name, node in one.nodes.items()
        }
        if all(values.get(a) == values.get(b) for a, b in equalities if a in values and b in values):
            yield [*combination]
