"""Facts about columns that the check starts from: of streams and relations, keys, and conditions.

Streams and relations: what they punctuate, whether tuples expire.

Cites: SAFETY 2.3 (punctuation schemes)

Columns that a key determines (a functional dependency): those of a tuple whose unique columns are in it.

    SELECT *, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) AS n
    FROM auction a JOIN bid b ON a.id = b.auction              auction UNIQUE (id): a.id ──> a.expires

Law: combinations that agree in the key agree in these columns.

What conditions make equal to an expression: by what is equal to all of it, or to a part.

    date_trunc('hour', a.ts) = date_trunc('hour', b.ts)
    date_trunc('day', date_trunc('hour', a.ts))     is also the day of the hour of b.ts

Bounds of keys of later times: what no key of a tuple to come is below.

    date_trunc('hour', ts)     itself: it never falls
    window_end(ts, 10)         ts + 1, whatever the length
    window_start(ts, 10)       ts - 9, by its length
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Call, Column, Expression, Literal, rewrite
from seine.algebra.functions import resolve_call
from seine.algebra.monotone import monotone_in
from seine.algebra.plan import Lookup, Scan
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP
from seine.optimizer.block import Block
from seine.safety.graph.build_graph import BlockGraph, ColumnClasses, Offer, SafetyItem, build_graph


def graph_of_tables(block: Block) -> BlockGraph:
    """The graph of a block of streams and relations alone."""
    return build_graph(block, [table_facts(item) for item in block.items if isinstance(item, Scan | Lookup)])


def table_facts(item: Scan | Lookup) -> SafetyItem:
    """A stream or relation as the check sees it."""
    columns = tuple(field.name for field in item.schema)
    if isinstance(item, Lookup):
        return SafetyItem(item.alias, columns, finite=True)
    stream, lasting = item.stream, item.window is None
    offers = tuple(_punctuations(item))
    return SafetyItem(item.alias, columns, offers, not lasting, stream.retractable and lasting)


def _punctuations(scan: Scan) -> Iterable[Offer]:
    """The punctuations of a stream that never lapse or whose values begin anew, and its watermark.

    A punctuation that lapses allows matches again later, and a tuple without a window waits for them; with
    reused values no tuple from before matches. Of a stream whose tuples may be deleted at any time the
    watermark says too little.
    """
    stream = scan.stream
    since = stream.since
    for number, scheme in enumerate(stream.schemes):
        if scheme.reused:
            yield Offer(frozenset(scheme.columns), frozenset([since[number]]))
        elif scheme.lifespan is None:
            yield Offer(frozenset(scheme.columns))
    if scan.window is not None or not stream.retractable:
        yield Offer(frozenset(), frozenset([stream.time]))


def determined_columns(block: Block, classes: ColumnClasses, keys: Iterable[Expression]) -> set[int]:
    """The columns of a block that these expressions over it determine, beside themselves.

    NULL is unique in no sense, so the unique columns have to be equal to others: then they are not NULL.
    """
    given = {classes.of(key.index) for key in keys if isinstance(key, Column)}
    return {
        column
        for scan, first in block.scans
        for unique in _unique_columns(scan)
        if {classes.of(first + column) for column in unique} <= given & classes.shared
        for column in range(first, first + len(scan.schema))
    }


def _unique_columns(scan: Scan) -> Iterator[tuple[int, ...]]:
    """The sets of columns in which no two tuples of a stream ever agree."""
    for scheme in scan.stream.schemes:
        if scheme.unique and scheme.lifespan is None and not scheme.reused:
            yield scheme.columns


_MOST_EQUAL = 16  # that are looked at


def equal_expressions(expression: Expression, conditions: Iterable[Expression]) -> list[Expression]:
    """An expression, and others that have its value wherever the conditions hold.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(4, BIGINT)
    >>> [str(one) for one in equal_expressions(Call("neg", (a,), BIGINT), [Call("eq", (a, b), BOOLEAN)])]
    ['neg(#0)', 'neg(#4)']
    """
    sides = [pair for condition in conditions for pair in _both_ways(condition)]
    equal = [expression]
    for one in equal:
        made = [_replaced(one, side, other) for side, other in sides]
        equal += [other for other in dict.fromkeys(made) if other not in equal]
        if len(equal) > _MOST_EQUAL:
            break
    return equal


def _both_ways(condition: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Each side of an equality that is computed of columns, and what is equal to it."""
    match condition:
        case Call("eq", (one, other)) if one.type == other.type:
            yield from ((side, equal) for side, equal in ((one, other), (other, one)) if side.columns)


def _replaced(expression: Expression, part: Expression, by: Expression) -> Expression:
    return rewrite(expression, lambda one: by if one == part else one)


def least_later(key: Expression) -> Expression | None:
    """A bound such that no key of a later time is below it, as a function of the time; None if there is none.

    Of a key that never falls that is the key itself. The end of a window is later than each of its times,
    whatever its length; its start is less than the length before them.

    >>> from seine.algebra.event_windows import event_window
    >>> from seine.algebra.expressions import Column
    >>> window = event_window(Column(3, BIGINT), 10, 5, 0)
    >>> str(least_later(window.end)), str(least_later(window.start))
    ('add(#3, 1)', 'sub(#3, 9)')
    """
    window = window_of(key)
    if window is None:
        return None if monotone_in(key) is None else key
    if monotone_in(window.time) is None:
        return None
    kind = DAY_TIME if key.type == TIMESTAMP else BIGINT
    if key == window.end:
        return resolve_call("add", [window.time, Literal(1, kind)])
    length = window.constants[0]
    if not isinstance(length, Literal) or not isinstance(length.value, int):
        return None
    return resolve_call("sub", [window.time, Literal(length.value - 1, kind)])


def is_window_start(key: Expression) -> bool:
    """Whether a key is the start of a window."""
    window = window_of(key)
    return window is not None and key == window.start
