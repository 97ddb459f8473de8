"""From an optimised plan to nodes, bottom-up; every node is placed through one function.

The function finds an equal node or inserts the candidate, and returns what is in the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict

from seine.algebra.expressions import Column, Expression, columns_of, shift_columns
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Except,
    Join,
    Lookup,
    Plan,
    Project,
    Query,
    Scan,
    Select,
    UnionAll,
    walk,
)
from seine.algebra.types import Type
from seine.errors import SeineError
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    DistinctNode,
    ExceptNode,
    JoinNode,
    LookupNode,
    MergeNode,
    Node,
    OutputNode,
    Port,
    ProjectNode,
    ResolveNode,
    SelectNode,
    SourceNode,
)
from seine.optimizer.equalities import split_equalities

DEFAULT_LIMIT = 10_000_000
UNPLACED = -1  # the id of a candidate

Place = Callable[[Node], Node]


def build_query(query: Query, plan: Plan, place: Place) -> OutputNode:
    """Place the nodes of a query, given its optimised plan; inputs are placed before what reads them."""
    changelog = any(isinstance(p, Aggregate | Distinct | UnionAll | Except) for p in walk(query.plan))
    domain = _domain(query)
    builder = _Builder(place)
    top = builder.build(plan)
    if changelog and not ends_are_told(plan):
        top = builder.set_operator(ChangelogNode, [top])
    limit = query.option("limit", DEFAULT_LIMIT)
    assert isinstance(limit, int)
    names = tuple(field.name for field in query.plan.schema)
    output = OutputNode(
        ports=(_port(top),),
        query=query.name,
        names=names,
        changelog=changelog,
        domain=domain,
        limit=limit,
        **_like(top),
    )
    placed = place(output)
    assert isinstance(placed, OutputNode)
    return placed


def ends_are_told(plan: Plan) -> bool:
    """Whether every row ends by an early end that is told, none silently by its window.

    So it is above aggregates, distincts and excepts; such rows need no changelog node.
    """
    match plan:
        case Aggregate() | Distinct() | Except():
            return True
        case Join(left, Lookup()):
            return ends_are_told(left)
    return bool(plan.inputs) and all(map(ends_are_told, plan.inputs))


def _domain(query: Query) -> str:
    domains = {scan.stream.domain for scan in walk(query.plan) if isinstance(scan, Scan)}
    if not domains:
        raise SeineError(
            f"query {query.name!r} reads no stream", hint="a standing query needs at least one stream"
        )
    if len(domains) > 1:
        raise SeineError(
            f"query {query.name!r} mixes streams timed by TIMESTAMP with streams timed by BIGINT",
            hint="lives can be compared only within one kind of time",
        )
    return domains.pop()


class _Common(TypedDict):
    id: int
    types: tuple[Type, ...]
    streams: tuple[str, ...]
    hold: tuple[str, ...]
    identities: int
    stage: int


def _common(
    types: Sequence[Type], streams: Iterable[str], hold: Iterable[str], identities: int, stage: int
) -> _Common:
    return _Common(
        id=UNPLACED,
        types=tuple(types),
        streams=tuple(sorted(set(streams))),
        hold=tuple(sorted(set(hold))),
        identities=identities,
        stage=stage,
    )


def _like(node: Node, types: Sequence[Type] | None = None) -> _Common:
    """What a stateless node takes over from its input."""
    return _common(
        node.types if types is None else types, node.streams, node.hold, node.identities, node.stage
    )


def _port(node: Node, key: tuple[Expression, ...] = ()) -> Port:
    return Port(node.id, node.types, node.streams, node.identities, key)


def _columns(types: Sequence[Type], but: int | None = None) -> tuple[Expression, ...]:
    return tuple(Column(index, type_) for index, type_ in enumerate(types) if index != but)


class _Builder:
    """Builds the nodes of one query; it knows the network by `place` alone."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def build(self, plan: Plan) -> Node:
        match plan:
            case Scan():
                return self.scan(plan)
            case Select(input, predicate):
                node = self.build(input)
                return self.place(SelectNode(ports=(_port(node),), predicate=predicate, **_like(node)))
            case Project(Join() as join, expressions, _):
                return self.project_join(join, expressions)
            case Project(input, expressions, _):
                return self.project(self.build(input), expressions)
            case Join():
                return self.join(plan, tuple(range(len(plan.schema))))
            case Aggregate():
                return self.aggregate(plan)
            case Distinct(UnionAll(branches)):
                return self.set_operator(DistinctNode, map(self.build, branches))
            case Distinct(input):
                return self.set_operator(DistinctNode, [self.build(input)])
            case Except(left, right):
                return self.set_operator(ExceptNode, map(self.build, (left, right)))
            case UnionAll(branches):
                return self.merge([self.build(branch) for branch in branches])
        raise SeineError(
            f"relation {_relation_name(plan)!r} is read without a stream",
            hint="a relation takes part in a query only where it is joined with a stream",
        )

    def scan(self, plan: Scan) -> Node:
        stream = plan.stream
        hold = (stream.name,) if stream.retractable else ()
        common = _common(stream.types, (stream.name,), hold, 0, 0)
        source = self.place(SourceNode(ports=(), stream=stream.name, **common))
        if not stream.retractable:
            return source
        return self.place(
            ResolveNode(
                ports=(_port(source, _columns(stream.types, but=stream.time)),),
                stream=stream.name,
                time=stream.time,
                window=stream.window,
                **_common(stream.types, source.streams, source.hold, 1, 1),
            )
        )

    def project(self, node: Node, expressions: tuple[Expression, ...]) -> Node:
        if expressions == _columns(node.types):
            return node
        types = [expression.type for expression in expressions]
        return self.place(ProjectNode(ports=(_port(node),), expressions=expressions, **_like(node, types)))

    def project_join(self, join: Join, expressions: tuple[Expression, ...]) -> Node:
        """A join gives only the columns that the projection reads, in their order."""
        out = tuple(sorted(set().union(*map(columns_of, expressions))))
        position = {before: after for after, before in enumerate(out)}
        moved = tuple(shift_columns(expression, position.__getitem__) for expression in expressions)
        return self.project(self.join(join, out), moved)

    def join(self, plan: Join, out: tuple[int, ...]) -> Node:
        left = self.build(plan.left)
        keys = split_equalities(plan.predicate, len(left.types))
        types = tuple(plan.schema[index].type for index in out)
        if isinstance(plan.right, Lookup):
            lookup = LookupNode(
                ports=(_port(left),),
                relation=plan.right.relation.name,
                relation_types=plan.right.relation.types,
                row_key=keys.left,
                relation_key=keys.right,
                residual=keys.residual,
                out=out,
                **_like(left, types),
            )
            return self.place(lookup)
        right = self.build(plan.right)
        common = _common(
            types,
            left.streams + right.streams,
            left.hold + right.hold,
            left.identities + right.identities,
            max(left.stage, right.stage) + 1,
        )
        ports = (_port(left, keys.left), _port(right, keys.right))
        return self.place(JoinNode(ports=ports, residual=keys.residual, out=out, **common))

    def aggregate(self, plan: Aggregate) -> Node:
        node = self.build(plan.input)
        types = [field.type for field in plan.schema]
        common = _common(types, node.streams, node.streams, 1, node.stage + 1)
        return self.place(AggregateNode(ports=(_port(node, plan.keys),), calls=plan.calls, **common))

    def set_operator(
        self, cls: type[DistinctNode] | type[ExceptNode] | type[ChangelogNode], inputs: Iterable[Node]
    ) -> Node:
        """A stateful node of whole rows: a row goes to the bucket of all its columns."""
        nodes = list(inputs)
        streams = [stream for node in nodes for stream in node.streams]
        types = nodes[0].types
        common = _common(types, streams, streams, 1, max(node.stage for node in nodes) + 1)
        return self.place(cls(ports=tuple(_port(node, _columns(types)) for node in nodes), **common))

    def merge(self, nodes: list[Node]) -> Node:
        streams = [stream for node in nodes for stream in node.streams]
        hold = [stream for node in nodes for stream in node.hold]
        most = max(node.identities for node in nodes)
        common = _common(nodes[0].types, streams, hold, most + 1 if most else 0, max(n.stage for n in nodes))
        return self.place(MergeNode(ports=tuple(map(_port, nodes)), **common))


def _relation_name(plan: Plan) -> str:
    return next((part.relation.name for part in walk(plan) if isinstance(part, Lookup)), "")
