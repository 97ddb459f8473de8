"""Changes of a query that bound it by event time: a window of groups, or a condition on two times.

    SELECT k, COUNT(*) FROM s GROUP BY k     add window(ts, 60) to GROUP BY, for a result of each window
    SELECT ... FROM a, b WHERE a.k = b.k     add b.ts BETWEEN a.ts AND a.ts + 60, which leaves other pairs out

They change the answer, and say how. Every one that is returned was judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from seine.algebra.event_windows import event_window
from seine.algebra.expressions import Column, Literal, conjunction, conjuncts, substitute
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Aggregate, Join, Plan, Scan, Select, walk
from seine.algebra.plan_text import column_name
from seine.algebra.rank_plan import ROW_NUMBER, Rank
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP
from seine.optimizer.block import take_apart
from seine.optimizer.traverse import rebuild
from seine.safety.states.check_plan import judge

_EXAMPLES = {TIMESTAMP: ("'1 hour'", "INTERVAL '1' HOUR"), BIGINT: ("60", "60")}  # of lengths, as in SQL
_LENGTH = 60  # of the judged change: any would do


def time_cures(plan: Plan) -> list[str]:
    """What could be added to a query, each by itself, that makes it safe."""
    return [*_window_of_groups(plan), *_condition_on_times(plan), *_without_ties(plan)][:1]


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
    earlier, later = _time(one, first), _time(other, second)
    length = Literal(_LENGTH, DAY_TIME if earlier.type == TIMESTAMP else BIGINT)
    between = resolve_call("between", [later, earlier, resolve_call("add", [earlier, length])])
    condition = conjunction([*block.conditions, *conjuncts(between)])
    assert condition is not None
    if all(judge(Select(reduce(Join, block.items), condition)).values()):
        start, end = (_name(scan) for scan in (one, other))
        text = f"{end} BETWEEN {start} AND {start} + {_EXAMPLES[earlier.type][1]}"
        yield f"add a condition such as {text}, which leaves other pairs out"


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
    return f"{column_name(scan.alias)}.{column_name(scan.schema[scan.stream.time].name)}"
