"""Changes of a query that bound it by event time: a window of groups, or a condition on two times.

    SELECT k, COUNT(*) FROM s GROUP BY k     add window(ts, 60) to GROUP BY, for a result of each window
    SELECT ... FROM a, b WHERE a.k = b.k     add b.ts BETWEEN a.ts AND a.ts + 60, which leaves other pairs out

They change the answer, and say how. Every one that is returned was judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from seine.algebra.event_windows import event_window
from seine.algebra.expressions import Column, Expression, Literal, conjunction, conjuncts, substitute
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Aggregate, Join, Plan, Scan, Select, SetOperation, walk
from seine.algebra.plan_text import column_name
from seine.algebra.rank_plan import ROW_NUMBER, Rank
from seine.algebra.search_plan import Search
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP
from seine.optimizer.block import take_apart
from seine.optimizer.traverse import rebuild
from seine.safety.states.check_plan import judge

_EXAMPLES = {TIMESTAMP: ("'1 hour'", "INTERVAL '1' HOUR"), BIGINT: ("60", "60")}  # of lengths, as in SQL
_LENGTH = 60  # of the judged change: any would do


def time_cures(plan: Plan) -> list[str]:
    """What could be added to a query, each by itself, that makes it safe."""
    cures = (_window_of_groups, _condition_on_times, _range_of_partners, _without_ties)
    return [words for cure in cures for words in cure(plan)][:1]


def _window_of_groups(plan: Plan) -> Iterator[str]:
    """A window for the groups of a query that has one GROUP BY."""
    grouped = [part for part in walk(plan) if isinstance(part, Aggregate)]
    if len(grouped) != 1 or not grouped[0].keys or any(isinstance(part, Rank) for part in walk(plan)):
        return
    (groups,) = grouped
    block = take_apart(groups.input, largest=None)
    scan = block.items[0]
    if len(block.items) > 1 or not isinstance(scan, Scan):
        return
    end = event_window(_time(scan, 0), _LENGTH, _LENGTH, 0).end
    keys = tuple(substitute(key, block.outputs) for key in groups.keys)
    names = tuple(f"k{i}" for i in range(len(keys) + 1))
    if all(judge(Aggregate(scan, (*keys, end), (), names)).values()):
        name = column_name(scan.schema[scan.stream.time].name)
        yield f"add window({name}, {_EXAMPLES[end.type][0]}) to GROUP BY, for a result of each window"


def _condition_on_times(plan: Plan) -> Iterator[str]:
    """A condition on the times of a query that joins two streams and does nothing else with them: what is
    not freed comes first, as an auction does before its bids.
    """
    block = take_apart(plan, largest=None)
    pairs = zip(block.items, block.offsets, strict=False)
    placed = [(item, first) for item, first in pairs if isinstance(item, Scan)]
    if len(placed) != 2 or not block.is_of_tables:
        return
    freed = judge(plan)
    (one, first), (other, second) = sorted(placed, key=lambda item: freed.get(item[0].alias, False))
    between = _between(_time(one, first), _time(other, second))
    condition = conjunction([*block.conditions, *conjuncts(between)])
    assert condition is not None
    if all(judge(Select(reduce(Join, block.items), condition)).values()):
        yield f"add a condition such as {_range_text(one, other)}, which leaves other pairs out"


def _range_of_partners(plan: Plan) -> Iterator[str]:
    """A condition on the times of two streams in an outer, semi or anti join: a row waits for partners as
    long as that says.
    """
    lefts = [part.left for part in walk(plan) if isinstance(part, SetOperation) and part.kind.is_of_pairs]
    kept = [left for left in lefts if isinstance(left, Scan)]
    scans = {part.alias: part for part in walk(plan) if isinstance(part, Scan)}
    others = [scan for alias, scan in scans.items() if kept and alias != kept[0].alias]
    if len(others) != 1 or kept[0].stream.domain != others[0].stream.domain:
        return
    one, other = kept[0], others[0]

    def change(part: Plan) -> Plan:
        match part:
            case Join(Scan() as left, Scan() as right) if {left.alias, right.alias} == {
                one.alias,
                other.alias,
            }:
                width, is_first = len(left.schema), left.alias == one.alias
                early, late = (0, width) if is_first else (width, 0)
                return Select(part, _between(_time(one, early), _time(other, late)))
        return part

    if all(judge(rebuild(plan, change)).values()):
        where = "to ON or to the WHERE of the sub-query, so that other tuples are no partners"
        yield f"add a condition such as {_range_text(one, other)} {where}"


def _between(earlier: Column, later: Column) -> Expression:
    length = Literal(_LENGTH, DAY_TIME if earlier.type == TIMESTAMP else BIGINT)
    return resolve_call("between", [later, earlier, resolve_call("add", [earlier, length])])


def _range_text(one: Scan, other: Scan) -> str:
    length = _EXAMPLES[one.stream.types[one.stream.time]][1]
    return f"{_name(other)} BETWEEN {_name(one)} AND {_name(one)} + {length}"


def _without_ties(plan: Plan) -> Iterator[str]:
    """ROW_NUMBER for another rank, of which a partition has no more than n rows."""

    def change(part: Plan) -> Plan:
        return replace(part, function=ROW_NUMBER) if isinstance(part, Rank) else part

    tied = [part for part in walk(plan) if isinstance(part, Rank) and part.function != ROW_NUMBER]
    if tied and all(judge(rebuild(plan, change)).values()):
        yield "use ROW_NUMBER(), which keeps n rows and not all ties"


def _time(scan: Scan, first: int) -> Column:
    return Column(first + scan.stream.time, scan.stream.types[scan.stream.time])


def _name(scan: Scan) -> str:
    """The time of a stream as the query around would say it: of one in a sub-query p, p.u, it is p's."""
    alias, *_ = scan.alias.split(".")
    return f"{column_name(alias)}.{column_name(scan.schema[scan.stream.time].name)}"


def search_cures(plan: Search, lasting: Sequence[str]) -> list[str]:
    """The additions to a declaration or to the query that would do, each of them alone enough.

    Leaving streams out helps if others are left.
    """
    windows = " and ".join(f"a WINDOW on {column_name(name)}" for name in lasting)
    rest = [name for name in plan.graph.tables if name not in lasting]
    if all(stream.name in lasting for stream in plan.streams):
        return [f"declare {windows}"]
    return [f"declare {windows}", f"search OVER ({', '.join(map(column_name, rest))})"]
