"""Final results (`emit = 'final'`): each group once, when nothing can join it any more.

It is final when punctuations or clocks say so (`safety.final_groups`), and when its tuples have all expired,
or input ends, whatever its keys are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column
from seine.algebra.plan import Aggregate, AggregateCall, Distinct, Plan, Project
from seine.errors import SeineError
from seine.network.groups.group_purging import final_times, key_punctuations
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.site.placing import BlockRows, Placer, port_of
from seine.operators.group.final_node import FinalNode
from seine.safety.states.final_groups import GroupedBlock, finality_of


def refuse_no_groups(plan: Plan) -> None:
    """Only groups can be final."""
    if not isinstance(plan, Aggregate | Distinct):
        raise SeineError(
            "emit = 'final' needs groups whose results are reported as they are",
            hint="use it with one GROUP BY or DISTINCT, above which nothing is joined or united",
        )


def with_arrival(plan: Aggregate, rows: BlockRows, grouping: GroupedBlock) -> tuple[Aggregate, BlockRows]:
    """An aggregate with the latest start of a tuple as a further result.

    By it a change because a tuple came differs from one because a tuple expired.
    """
    windowed = [scan for scan, _ in grouping.block.scans if scan.stream.window is not None]
    if not windowed:
        return plan, rows
    if len(grouping.block.items) > 1:
        raise SeineError(
            "emit = 'final' of joined streams with windows is not available",
            hint="join streams without windows, bounded by punctuations or time conditions",
        )
    (scan,) = windowed
    time = Column(scan.stream.time, scan.stream.types[scan.stream.time])
    columns = (*grouping.block.outputs, time)
    read = Project(scan, columns, tuple(f"c{i}" for i in range(len(columns))))
    latest = AggregateCall("max", (Column(len(columns) - 1, time.type),), time.type)
    more = Aggregate(read, plan.keys, (*plan.calls, latest), (*plan.names, "latest"))
    return more, replace(rows, outputs=(*rows.outputs, time))


def place_final(
    placer: Placer, streams: Mapping[str, StreamDef], breaker: BreakerRows, groupings: Sequence[GroupedBlock]
) -> BreakerRows:
    """The final rows of a pipeline breaker, without a last column for the latest start of a tuple."""
    width = len(groupings[0].keys)
    node = breaker.node
    keys = tuple(Column(i, node.types[i]) for i in breaker.columns[:width])
    arrival = None
    if (
        any(scan.stream.window is not None for one in groupings for scan, _ in one.block.scans)
        and node.kind != "distinct"
    ):
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
        clocks=final_times(finality),
        arrival=arrival,
        **common,
    )
    identity = candidate.signature(placer.site)
    assert identity is not None
    return replace(breaker, node=placer.find_or_insert(candidate, identity))
