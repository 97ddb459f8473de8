"""Part `check` of the benchmark `safety`: CPU time of the safety check, for few to many streams.

It is compared with a separate graph search for each stream. The queries are safe, so nothing is decided
early. In a chain each stream has a scheme for each of its neighbours; in a ring each is closed by one
neighbour alone; in a star all have the key of the middle; in pairs a stream is closed by the punctuations
of two others together, so that generalised edges decide. The time is that of a verdict, from the
decomposition of the plan to the answer; parsing is not included.

Cites: SAFETY 4.3 (the check takes linear or polynomial time)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import reduce
from statistics import median

from benchmarks.harness.table import Table
from seine.algebra.definitions import Scheme, StreamDef
from seine.algebra.expressions import Call, Column, Expression, conjunction
from seine.algebra.plan import Join, Plan, Query, Scan, Select
from seine.algebra.types import BIGINT, BOOLEAN, Field
from seine.safety.graph.punctuation_graph import closure, finished
from seine.safety.states.item_facts import Sources
from seine.safety.verdict import verdict

_NAMES = ("a", "b", "c", "d", "ts")
_FIELDS = tuple(Field(name, BIGINT) for name in _NAMES)
Link = tuple[int, int, int, int]  # stream, column = stream, column
Shape = tuple[list[list[tuple[int, ...]]], list[Link]]  # the schemes of each stream, and the equalities
MOST_STREAMS_ONE_BY_ONE = 1_000  # streams that are searched one by one: that is quadratic


def chain(count: int) -> Shape:
    """Each stream joins the next; schemes on both join columns."""
    return [[(0,), (1,)] for _ in range(count)], [(i, 1, i + 1, 0) for i in range(count - 1)]


def ring(count: int) -> Shape:
    """A closed chain; each stream has a scheme for one neighbour alone."""
    return [[(0,)] for _ in range(count)], [(i, 1, (i + 1) % count, 0) for i in range(count)]


def star(count: int) -> Shape:
    """All streams join the first one on its key."""
    return [[(0,)] for _ in range(count)], [(0, 0, i, 0) for i in range(1, count)]


def pairs(count: int) -> Shape:
    """A chain closed backwards by one column, and forwards by the punctuations of two streams together."""
    links = [(i - 1, 3, i, 1) for i in range(1, count)] + [(i - 2, 2, i, 0) for i in range(2, count)]
    return [[(3,)], [(1,), (3,)], *([(0, 1), (3,)] for _ in range(2, count))], links


SHAPES: dict[str, Callable[[int], Shape]] = {"chain": chain, "ring": ring, "star": star, "pairs": pairs}


def plan_of(shape: Shape) -> Plan:
    """The plan of a shape: a product of all streams, and a selection by the equalities."""
    schemes, links = shape
    scans: list[Plan] = [
        Scan(StreamDef(f"s{i}", _FIELDS, 4, None, schemes=tuple(map(Scheme, stream_schemes))), f"s{i}")
        for i, stream_schemes in enumerate(schemes)
    ]
    equalities = [_equal(i * len(_FIELDS) + c, j * len(_FIELDS) + d) for i, c, j, d in links]
    predicate = conjunction(equalities)
    assert predicate is not None
    return Select(reduce(Join, scans), predicate)


def _equal(one: int, other: int) -> Expression:
    return Call("eq", (Column(one, BIGINT), Column(other, BIGINT)), BOOLEAN)


def main(counts: Sequence[int] = (10, 100, 1_000, 10_000), runs: int = 7) -> Table:
    """The table: CPU time, the median of `runs` runs."""
    table = Table("query", "streams", "check, ms", "one by one, ms", "ratio")
    for name, shape in SHAPES.items():
        for count in counts:
            print(f"  safety, {name} of {count:,} streams ...", file=sys.stderr, flush=True)
            _measure(table, name, count, plan_of(shape(count)), runs)
    return table


def _measure(table: Table, name: str, count: int, plan: Plan, runs: int) -> None:
    query = Query("q", plan)
    assert verdict(query).safe
    checked = median(_milliseconds(lambda: verdict(query)) for _ in range(runs))
    alone = _milliseconds(lambda: one_by_one(plan)) if count <= MOST_STREAMS_ONE_BY_ONE else None
    words = ("", "") if alone is None else (f"{alone:,.1f}", f"{alone / checked:,.1f}x")
    table.add(name, f"{count:,}", f"{checked:,.1f}", *words)


def one_by_one(plan: Plan) -> bool:
    """The verdict by a separate graph closure for each stream."""
    graph = Sources().block(plan)[1].graph
    return all(finished(graph, closure(graph, [number])) for number in range(len(graph.items)))


def _milliseconds(act: Callable[[], object]) -> float:
    begin = time.process_time()
    act()
    return (time.process_time() - begin) * 1_000
