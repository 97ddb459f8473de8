"""Final results (`emit = 'final'`): each group, row of a set operator or pair once, when nothing changes it.

A group is final when punctuations or clocks say so (`safety.final_groups`), and when its tuples have all
expired, or input ends, whatever its keys are. A pair with rows of groups in it is final when these are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, conjunction
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Lookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
)
from seine.errors import SeineError
from seine.network.groups.group_purging import final_times, key_punctuations
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.groups.vertical_expansion import has_window
from seine.network.joins.heard_joins import HeardJoins
from seine.network.site.partitioning import needs_exchange
from seine.network.site.placing import Placer, port_of
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.final import FinalNode
from seine.operators.join.final_time import FinalTime
from seine.optimizer.block import Block
from seine.optimizer.fixed_frames import is_fixed
from seine.safety.states.final_groups import (
    BlockOf,
    Clocks,
    Finality,
    GroupedBlock,
    RisingColumn,
    finality_of,
    groupings_of,
    rising_columns,
    whatever_length,
)
from seine.safety.states.runnable import is_appended_result

_NEVER_FINAL = "emit = 'final' needs rows that become final"


def grouped_item(block: Block) -> Plan | None:
    """The aggregate or set operator whose rows are the results; None if there is none, or it is joined."""
    if block.is_of_tables:
        _refuse_deletable(block)
    item = block.items[0]
    if isinstance(item, SetOperation) and not item.kind.is_set:
        raise SeineError(
            "emit = 'final' of EXISTS, IN, outer joins or ALL of set operators over groups is not available",
            hint="write set operators without ALL, which tells equal rows once, join groups by their window, "
            "which pairs those of one window alone, or leave out emit = 'final'",
        )
    return item if len(block.items) == 1 and isinstance(item, Aggregate | Distinct | SetOperation) else None


def united_groups(block: Block, block_of: BlockOf) -> list[Block]:
    """The branches of a UNION ALL of results, each of which is final for itself; none of other blocks."""
    branches = united_results(block, block_of)
    return [] if any(one.is_of_tables or grouped_item(one) is None for one in branches) else branches


def united_results(block: Block, block_of: BlockOf) -> list[Block]:
    """The branches of a UNION ALL of which one has results of groups or sets; none of other blocks."""
    item = block.items[0]
    if len(block.items) > 1 or block.conditions or not isinstance(item, UnionAll):
        return []
    names = tuple(f"c{i}" for i in range(len(block.outputs)))
    branches = [block_of(Project(branch, block.outputs, names)) for branch in item.branches]
    return [] if all(one.is_of_tables for one in branches) else branches


def _refuse_deletable(block: Block) -> None:
    """Combinations of tuples are final as they come, unless tuples may be deleted."""
    for scan, _ in block.scans:
        if scan.stream.retractable:
            raise SeineError(
                f"{_NEVER_FINAL}: tuples of {scan.alias} may be deleted at any time",
                hint="leave out emit = 'final', or read a stream that is not RETRACTABLE",
            )


def is_final_input(plan: Plan, block_of: BlockOf) -> bool:
    """Whether the rows of groups or of DISTINCT beneath a final result can be read when they are final: a
    watermark makes them so, one after the other.
    """
    if not isinstance(plan, Aggregate | Distinct):
        return False
    groupings = groupings_of(plan, block_of)
    finality = finality_of(groupings)
    return bool(finality.times) and not finality.session and all(one.settles for one in groupings)


def _changing_parts(block: Block, block_of: BlockOf) -> list[list[RisingColumn]]:
    """Of each item whose rows may change its rising columns, by their places in the block."""
    _refuse_deletable(block)
    parts = []
    for item, first in zip(block.items, block.offsets, strict=False):
        appended = isinstance(item, Scan | Lookup) or is_appended_result(item) or is_fixed(item, block_of)
        if appended or is_final_input(item, block_of):
            continue
        rising = whatever_length(rising_columns(item, block_of))
        parts.append([replace(one, column=first + one.column) for one in rising])
        if not parts[-1]:
            raise SeineError(
                f"{_NEVER_FINAL}: the groups, or joined or ranked rows, may change at any time",
                hint="group or partition by a time, such as ts - ts % 60, of streams without a window: there "
                "is a row for each such time, and tuples count whatever their age",
            )
    return parts


def with_rising(block: Block, block_of: BlockOf) -> tuple[Block, list[list[Clocks]]]:
    """A block with the rising columns of its changing items behind its outputs, and the clocks of these."""
    parts = _changing_parts(block, block_of)
    types = [field.type for item in block.items for field in item.schema]
    rising = tuple(Column(one.column, types[one.column]) for part in parts for one in part)
    clocks = [[one.clocks for one in part] for part in parts]
    return replace(block, outputs=(*block.outputs, *rising)), clocks


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
            hint="use streams without windows, whose tuples count whatever their age, bounded by "
            "punctuations or time conditions",
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
    return [FinalTime(breaker.session_end, (finality.session,), True, False)]


def refuse_expiring(plan: Plan, groupings: Sequence[GroupedBlock]) -> None:
    """A row of EXCEPT that ends may have been taken away or have expired: the two are not told apart."""
    if isinstance(plan, SetOperation) and not all(grouping.settles for grouping in groupings):
        raise SeineError(
            "emit = 'final' of EXCEPT or INTERSECT over streams with windows or deletions is not available",
            hint="read streams without a WINDOW that are not RETRACTABLE; "
            "their tuples count whatever their age",
        )
    for grouping in groupings:
        if not grouping.settles:
            _refuse_expiring_parts(grouping)


def _refuse_expiring_parts(grouping: GroupedBlock) -> None:
    if not grouping.block.is_of_tables:
        raise SeineError(
            "emit = 'final' of groups of groups whose tuples expire or may be deleted is not available",
            hint="read streams without a WINDOW that are not RETRACTABLE, and group by a time: there is a "
            "row for each such time, and tuples count whatever their age",
        )


def place_final(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    breaker: BreakerRows,
    groupings: Sequence[GroupedBlock],
    heard: HeardJoins,
    as_input: bool = False,
) -> BreakerRows:
    """The final rows of a pipeline breaker, without a last column for the latest start of a tuple; as input
    of others they have none.
    """
    width = len(groupings[0].keys)
    node = breaker.node
    keys = tuple(Column(i, node.types[i]) for i in breaker.columns[:width])
    arrival = None
    if not as_input and _tells_arrival(groupings) and node.kind != "distinct":
        *columns, arrival = breaker.columns
        breaker = replace(breaker, columns=tuple(columns))
    finality = finality_of(groupings)
    punctuations = list(key_punctuations(placer, streams, finality, len(keys), heard))
    group = (*([0] if breaker.tag is not None else []), *breaker.columns[:width])
    # punctuations come to the bucket of the keys
    apart = bool(punctuations) or needs_exchange(placer.site, node, (Column(i, node.types[i]) for i in group))
    common = placer.common(node.types, node.streams, node.streams, 0, node.stage + apart)
    candidate = FinalNode(
        ports=(port_of(node, keys), *(port for port, _ in punctuations)),
        group=group,
        purges=tuple(purge for _, purge in punctuations),
        punctuators=len(finality.schemes),
        clocks=(*final_times(finality), *_session_times(finality, breaker)),
        arrival=arrival,
        paned=isinstance(node, AggregateNode) and node.flushes,
        retracts=node.kind in ("except", "multiset")
        or not all(grouping.block.is_of_tables for grouping in groupings),
        as_input=as_input,
        **common,
    )
    identity = candidate.signature(placer.site)
    assert identity is not None
    return replace(breaker, node=placer.find_or_insert(candidate, identity))
