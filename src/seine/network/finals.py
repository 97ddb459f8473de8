"""What makes groups final: promises of all streams beneath, or a watermark beyond the time in their keys.

A group is final when no tuple can join it any more. So it is when every stream of its block has promised
the values of its keys, or when its key is the time of every one and the watermarks have passed it; and when
its tuples have all expired, or input ends, whatever its keys are. `safety.freeing` says of a plan where
that is so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, columns_of, shift_columns, substitute
from seine.algebra.monotone import rises_with
from seine.algebra.plan import Aggregate, AggregateCall, Distinct, Lookup, Plan, Project, Scan
from seine.errors import SeineError
from seine.network.blocks import Block
from seine.network.fences import Fenced
from seine.network.nodes import (
    AggregateNode,
    DistinctNode,
    ExceptNode,
    FinalNode,
    FinalTime,
    Port,
    PromiseNode,
    Purge,
    Releases,
)
from seine.network.placing import Placer, Rows, port_of
from seine.network.promising import place_promises
from seine.optimizer.equalities import is_equality
from seine.sharing.consing import signature


@dataclass(frozen=True)
class Grouping:
    """One block whose rows are grouped, and the keys over its rows."""

    block: Block
    keys: tuple[Expression, ...]

    @property
    def scans(self) -> list[Scan]:
        return [item for item in self.block.items if isinstance(item, Scan)]


def refuse_no_groups(plan: Plan) -> None:
    """Only groups can be final."""
    if not isinstance(plan, Aggregate | Distinct):
        raise SeineError(
            "emit = 'final' needs groups whose results are reported as they are",
            hint="use it with one GROUP BY or DISTINCT, above which nothing is joined or united",
        )


def with_arrival(plan: Aggregate, rows: Rows, grouping: Grouping) -> tuple[Aggregate, Rows]:
    """An aggregate with one result more, the latest start of a tuple: it tells joining from expiring."""
    windowed = [scan for scan in grouping.scans if scan.stream.window is not None]
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
    placer: Placer, streams: Mapping[str, StreamDef], fenced: Fenced, groupings: Sequence[Grouping]
) -> Fenced:
    """The final rows of a fence; if its last column is the latest start of a tuple it is left out."""
    width = len(groupings[0].keys)
    node = fenced.node
    keys = tuple(Column(i, node.types[i]) for i in fenced.columns[:width])
    arrival = None
    if (
        any(scan.stream.window is not None for one in groupings for scan in one.scans)
        and node.kind != "distinct"
    ):
        *columns, arrival = fenced.columns
        fenced = replace(fenced, columns=tuple(columns))
    promises = list(_promises(placer, streams, groupings, keys))
    common = placer.common(node.types, node.streams, node.streams, 0, node.stage + 1)
    candidate = FinalNode(
        ports=(port_of(node, keys), *(port for port, _ in promises)),
        group=(*([0] if fenced.tag is not None else []), *fenced.columns[:width]),
        purges=tuple(purge for _, purge in promises),
        promisers=1 + max((purge.side for _, purge in promises), default=-1),
        clocks=_times(groupings),
        arrival=arrival,
        **common,
    )
    identity = signature(candidate, placer.site)
    assert identity is not None
    return replace(fenced, node=placer.find_or_insert(candidate, identity))


def release(
    placer: Placer, streams: Mapping[str, StreamDef], fenced: Fenced, groupings: Sequence[Grouping]
) -> Fenced:
    """Let a fence that has not run yet listen to the promises and clocks that free its groups."""
    node = placer.site.nodes[fenced.node.id]
    assert isinstance(node, AggregateNode | DistinctNode | ExceptNode)
    for below in node.inputs:
        if isinstance(placer.site.nodes[below], PromiseNode):
            placer.claim_node(below)
    scans = [scan for one in groupings for scan in one.scans]
    lasting = all(scan.stream.window is None and not scan.stream.retractable for scan in scans)
    if node.releases or fenced.tag is None or not lasting or not placer.site.is_new(node.id):
        return replace(fenced, node=node)
    keys = node.ports[0].key[1:]
    # The tag, which no promise knows, has a say in where groups are: promises go everywhere.
    told = _promises(placer, streams, groupings, keys)
    found = [(replace(port, broadcast=True), purge) for port, purge in told]
    clocks = _times(groupings)
    if found or clocks:
        ports = (*node.ports, *(port for port, _ in found))
        promisers = 1 + max((purge.side for _, purge in found), default=-1)
        releases = Releases(tuple(purge for _, purge in found), promisers, clocks)
        node = placer.site.connect(node, ports=ports, releases=releases)
    return replace(fenced, node=node)


def _promises(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    groupings: Sequence[Grouping],
    keys: Sequence[Expression],
) -> Iterator[tuple[Port, Purge]]:
    """A port for each scheme that helps; nothing if some member of a block has none."""
    members = [found for one in groupings for found in _members(one)]
    if not keys or not members or not all(members):
        return
    for number, schemes in enumerate(members):
        for stream, scheme, places in schemes:
            columns = streams[stream].schemes[scheme].columns
            types = streams[stream].types
            own = tuple(Column(columns.index(column), types[column]) for _, column in places)
            at = tuple(place for place, _ in places)
            node = place_promises(placer, streams[stream], scheme)
            port = Port(node.id, node.types, node.streams, 0, own, broadcast=len(at) < len(keys))
            yield port, Purge(number, at)


Usable = tuple[str, int, tuple[tuple[int, int], ...]]  # a stream, a scheme, places of keys and their columns


def _members(grouping: Grouping) -> Iterator[list[Usable]]:
    """For each stream of a block the schemes whose columns equal keys; relations are finite."""
    root = _classes(grouping.block)
    place_of: dict[int, int] = {}
    for place, key in enumerate(grouping.keys):
        if isinstance(key, Column):
            place_of.setdefault(root.get(key.index, key.index), place)
    first = 0
    for item in grouping.block.items:
        if not isinstance(item, Lookup):
            yield list(_schemes(item, first, root, place_of)) if isinstance(item, Scan) else []
        first += len(item.schema)


def _schemes(
    item: Scan, first: int, root: Mapping[int, int], place_of: Mapping[int, int]
) -> Iterator[Usable]:
    if item.stream.retractable:
        return
    for number, scheme in enumerate(item.stream.schemes):
        classes = [(root.get(first + column, first + column), column) for column in scheme.columns]
        if scheme.lifespan is None and all(one in place_of for one, _ in classes):
            yield item.stream.name, number, tuple(sorted((place_of[one], column) for one, column in classes))


def _classes(block: Block) -> dict[int, int]:
    """For each column of a block one of those that conditions make equal to it."""
    root: dict[int, int] = {}

    def find(column: int) -> int:
        while column in root and root[column] != column:
            column = root[column]
        return column

    for condition in block.conditions:
        if is_equality(condition):
            one, other = condition.args
            if isinstance(one, Column) and isinstance(other, Column) and one.type == other.type:
                root[find(one.index)] = find(other.index)
    return {column: find(column) for column in root}


def _times(groupings: Sequence[Grouping]) -> tuple[FinalTime, ...]:
    """Keys that are, in every block, the same function of the time of every stream, one that never falls."""
    first, *others = [{*_rising(one)} for one in groupings]
    common = first.intersection(*others)
    return tuple(sorted(common, key=lambda time: (time.place, str(time.expression))))


def _rising(grouping: Grouping) -> Iterator[FinalTime]:
    block, root = grouping.block, _classes(grouping.block)
    if not all(isinstance(item, Scan | Lookup) for item in block.items):
        return
    pairs = zip(block.items, block.offsets, strict=False)
    times = [first + item.stream.time for item, first in pairs if isinstance(item, Scan)]
    classes = {root.get(time, time) for time in times}
    for place, key in enumerate(grouping.keys):
        if {root.get(c, c) for c in columns_of(key)} == classes and rises_with(key) is not None:
            yield FinalTime(place, shift_columns(key, lambda index: 0))


def grouping_of(block: Block, keys: Sequence[Expression]) -> Grouping:
    return Grouping(block, tuple(substitute(key, block.outputs) for key in keys))
