"""Final results (`emit = 'final'`): each group once, when nothing can join it any more.

It is final when punctuations or clocks say so (`safety.final_groups`), and when its tuples have all expired,
or input ends, whatever its keys are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, conjunction
from seine.algebra.plan import Aggregate, AggregateCall, Distinct, Plan, Project, Scan, Select
from seine.errors import SeineError
from seine.network.groups.group_purging import final_times, key_punctuations
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.groups.window_keys import has_window
from seine.network.site.placing import Placer, port_of
from seine.operators.group.aggregate_node import AggregateNode
from seine.operators.group.final_node import FinalNode
from seine.operators.group.release_rules import FinalTime
from seine.safety.states.final_groups import Finality, GroupedBlock, finality_of


def refuse_no_groups(plan: Plan) -> None:
    """Only groups can be final."""
    if not isinstance(plan, Aggregate | Distinct):
        raise SeineError(
            "emit = 'final' needs groups whose results are reported as they are",
            hint="use it with one GROUP BY or DISTINCT, above which nothing is joined or united",
        )


def _tells_arrival(groupings: Sequence[GroupedBlock]) -> bool:
    """Whether a group's result has the latest start of its tuples: where they expire, and for event windows.

    The final result of a window is told as of its last tuple, also if that one did not change it.
    """
    if any(scan.window is not None for one in groupings for scan, _ in one.block.scans):
        return True
    only, *others = groupings
    return (
        not others
        and isinstance(only.block.items[0], Scan)
        and len(only.block.items) == 1
        and has_window(only.keys)
    )


def with_arrival(plan: Aggregate, groupings: Sequence[GroupedBlock]) -> Aggregate:
    """An aggregate with the latest start of a tuple as a further result.

    By it a change because a tuple came differs from one because a tuple expired.
    """
    if not _tells_arrival(groupings):
        return plan
    grouping = groupings[0]
    if len(grouping.block.items) > 1 or len(groupings) > 1:
        how = "joined" if len(grouping.block.items) > 1 else "united"
        raise SeineError(
            f"emit = 'final' of {how} streams with windows is not available",
            hint="use streams without windows, bounded by punctuations or time conditions",
        )
    scan = grouping.block.items[0]
    assert isinstance(scan, Scan)
    time = Column(scan.stream.time, scan.stream.types[scan.stream.time])
    columns = (*grouping.block.outputs, time)
    condition = conjunction(list(grouping.block.conditions))
    selected = scan if condition is None else Select(scan, condition)
    read = Project(selected, columns, tuple(f"c{i}" for i in range(len(columns))))
    latest = AggregateCall("max", (Column(len(columns) - 1, time.type),), time.type)
    return Aggregate(read, plan.keys, (*plan.calls, latest), (*plan.names, "latest"))


def _session_times(finality: Finality, breaker: BreakerRows) -> list[FinalTime]:
    """A session is final when the time has passed its end, one of its results."""
    if finality.session is None or breaker.session_end is None:
        return []
    return [FinalTime(breaker.session_end, finality.session, True, False)]


def place_final(
    placer: Placer, streams: Mapping[str, StreamDef], breaker: BreakerRows, groupings: Sequence[GroupedBlock]
) -> BreakerRows:
    """The final rows of a pipeline breaker, without a last column for the latest start of a tuple."""
    width = len(groupings[0].keys)
    node = breaker.node
    keys = tuple(Column(i, node.types[i]) for i in breaker.columns[:width])
    arrival = None
    if _tells_arrival(groupings) and node.kind != "distinct":
        *columns, arrival = breaker.columns
        breaker = replace(breaker, columns=tuple(columns))
    finality = finality_of(groupings)
    punctuations = list(key_punctuations(placer, streams, finality, len(keys)))
    common = placer.common(node.types, node.streams, node.streams, 0, node.stage + 1)
    candidate = FinalNode(
        ports=(port_of(node, keys), *(port for port, _ in punctuations)),
        group=(*([0] if breaker.tag is not None else []), *breaker.columns[:width]),
        purges=tuple(purge for _, purge in punctuations),
        punctuators=len(finality.schemes),
        clocks=(*final_times(finality), *_session_times(finality, breaker)),
        arrival=arrival,
        paned=isinstance(node, AggregateNode) and node.flushes,
        **common,
    )
    identity = candidate.signature(placer.site)
    assert identity is not None
    return replace(breaker, node=placer.find_or_insert(candidate, identity))
