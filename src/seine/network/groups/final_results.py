"""Final results (`emit = 'final'`): each group, row of a set operator or pair once, when nothing changes it.

A group is final when punctuations or clocks say so (`safety.final_groups`), and when its tuples have all
expired, or input ends, whatever its keys are. A pair with rows of groups in it is final when these are.

Ports for the punctuations and clocks that free groups before they are empty, because they are final.

`safety.final_groups` says which these are.

Final results of outer, semi and anti joins (`emit = 'final'`): pairs as they come, other rows once.

    s LEFT JOIN t    pairs of an inner join, and the rows of s that met nobody in their whole life

Chains of such joins are parts of that kind by then (`optimizer/flat_partners.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    walk,
)
from seine.errors import SeineError
from seine.graph.node import Node, Port
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.groups.vertical_expansion import has_window
from seine.network.joins.join_punctuations import HeardJoins, claim_punctuations, place_punctuations
from seine.network.site.placing import Placer, needs_exchange, port_of
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.final import FinalNode
from seine.operators.group.group_release import Releases
from seine.operators.group.set_operations import DistinctNode, ExceptNode, MultisetNode
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join_purge import PurgeRule
from seine.operators.rank.over import OverNode
from seine.operators.rank.rank import RankNode
from seine.optimizer.block import Block
from seine.optimizer.fixed_frames import is_fixed
from seine.safety.states.final_groups import (
    BlockOf,
    Clocks,
    Finality,
    GroupedBlock,
    KeyScheme,
    RisingColumn,
    finality_of,
    groupings_of,
    rising_columns,
    whatever_length,
)
from seine.safety.states.runnable import is_appended_result


def release(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    breaker: BreakerRows,
    freeing: Finality,
    heard: HeardJoins,
) -> BreakerRows:
    """Connect a pipeline breaker that has not run with the punctuations and clocks that free its groups."""
    node = placer.site.nodes[breaker.node.id]
    assert isinstance(node, AggregateNode | DistinctNode | ExceptNode | MultisetNode | RankNode | OverNode)
    claim_punctuations(placer, [below for below in node.inputs if placer.site.nodes[below].is_punctuation])
    if node.releases or breaker.tag is None or not freeing or not placer.site.is_new(node.id):
        return replace(breaker, node=node)
    # The tag, of which punctuations say nothing, has a say in where groups are: they go everywhere. A group
    # that is chained to a join gets rows of its own bucket's part of it alone, so that part's word will do.
    # where the node has the keys as the query gives them
    keys = (
        [*range(len(node.ports[0].key))]
        if isinstance(node, RankNode | OverNode)
        else [c - 1 for c in breaker.columns]
    )
    listened = []
    for port, purge in key_punctuations(placer, streams, freeing, len(node.ports[0].key) - 1, heard):
        here = placer.site.nodes[port.node].stage == node.stage
        places = tuple(keys[place] for place in purge.places)
        purge = replace(purge, places=places, gathers=purge.gathers and not here)
        listened.append((replace(port, broadcast=not here), purge))
    ports = (*node.ports, *(port for port, _ in listened))
    times = [replace(time, place=keys[time.place]) for time in final_times(freeing)]
    if freeing.session is not None and breaker.session_end is not None:
        times.append(FinalTime(breaker.session_end - len(node.ports[0].key), (freeing.session,), True, False))
    releases = Releases(tuple(purge for _, purge in listened), len(freeing.schemes), tuple(times))
    return replace(breaker, node=placer.site.connect(node, ports=ports, releases=releases))


def key_punctuations(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    finality: Finality,
    keys: int,
    heard: HeardJoins,
) -> Iterator[tuple[Port, PurgeRule]]:
    """A port for each scheme that makes groups final, and which of so many keys it punctuates."""
    for number, schemes in enumerate(finality.schemes):
        for use in schemes:
            stream = streams[use.stream]
            columns = stream.schemes[use.scheme].columns
            key = tuple(Column(columns.index(column), stream.types[column]) for _, column in use.places)
            at = tuple(place for place, _ in use.places)
            node, gathers = _punctuations(placer, stream, use, heard)
            port = Port(node.id, node.types, node.streams, 0, key, broadcast=len(at) < keys)
            yield port, PurgeRule(number, at, gathers)


def _punctuations(placer: Placer, stream: StreamDef, use: KeyScheme, heard: HeardJoins) -> tuple[Node, bool]:
    """The node of the punctuations of a stream, or of those that its join derives from them; and whether
    every bucket sends these.
    """
    if use.joined is None:
        return place_punctuations(placer, stream, use.scheme), False
    return heard.place(use)


def final_times(finality: Finality) -> tuple[FinalTime, ...]:
    """The keys whose groups are final when the time in them has passed."""
    return tuple(FinalTime(key.place, key.clocks, is_period=key.is_period) for key in finality.times)


def final_parts(plan: Plan, block_of: BlockOf) -> list[Block]:
    """The blocks of outer, semi and anti joins of tuples, each of which is final for itself."""
    for scan in walk(plan):
        if isinstance(scan, Scan) and scan.stream.retractable:
            raise SeineError(
                f"emit = 'final' needs rows that become final: tuples of {scan.alias} may be deleted",
                hint="leave out emit = 'final', or read a stream that is not RETRACTABLE",
            )
    parts = _parts(plan, block_of)
    if not all(one.is_of_tables or partners_of(one, block_of) is not None for one in parts):
        raise SeineError(
            "emit = 'final' is for one outer, semi or anti join, or, without windows, a chain of LEFT JOINs",
            hint="leave out emit = 'final'",
        )
    return parts


def _parts(plan: Plan, block_of: BlockOf) -> list[Block]:
    """The block of a plan; of a union those of all its branches, which may be unions again."""
    block = block_of(plan)
    item = block.items[0]
    if len(block.items) > 1 or not isinstance(item, UnionAll):
        return [block]
    condition, names = conjunction(list(block.conditions)), tuple(f.name for f in plan.schema)
    chosen = [one if condition is None else Select(one, condition) for one in item.branches]
    return [part for one in chosen for part in _parts(Project(one, block.outputs, names), block_of)]


def partners_of(block: Block, block_of: BlockOf) -> SetOperation | None:
    """The semi or anti join of tuples whose rows a block gives; None of any other."""
    item = block.items[0]
    if len(block.items) > 1 or not isinstance(item, SetOperation) or not item.kind.is_of_pairs:
        return None
    pairs = item.right.branches if isinstance(item.right, UnionAll) else (item.right,)
    return item if all(block_of(side).is_of_tables for side in (item.left, *pairs)) else None


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
