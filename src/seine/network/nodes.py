"""The nodes of the shared network: what runs, as data.

A node is frozen, knows its inputs by id, and prints to JSON and back: the running
pipeline reads it, Spark's plan never depends on it. Stateless nodes (select, project,
lookup, merge) run where their input appears; a stateful one has a stage of its own, one
above its highest input (ARGUS calls it JoinLevel), and receives each input by a port.

Cites: ARGUS 6 (JoinLevel order)
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from seine.algebra.expressions import Expression, from_json, to_json
from seine.algebra.plan import AggregateCall
from seine.algebra.types import Type


@dataclass(frozen=True)
class Port:
    """What arrives at one input of a node, and the key that routes it to a bucket.

    `streams` are the streams beneath; `identities` counts the identity columns, zero
    meaning that rows of this input never end early; an empty `key` puts all rows in the
    one bucket of the node.
    """

    node: int
    types: tuple[Type, ...]
    streams: tuple[str, ...]
    identities: int = 0
    key: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Node:
    """Base of all nodes.

    `types` are the output's columns and `identities` its identity columns. Of `streams`, all
    streams beneath, `hold` are those whose progress must pass an instant before the output
    up to it is final: retractable ones, and all streams beneath an aggregate or set operator.
    """

    kind: ClassVar[str]
    stateful: ClassVar[bool] = False

    id: int
    ports: tuple[Port, ...]
    types: tuple[Type, ...]
    streams: tuple[str, ...]
    hold: tuple[str, ...]
    identities: int
    stage: int

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(port.node for port in self.ports)


@dataclass(frozen=True)
class SourceNode(Node):
    """The admitted tuples of a stream. Of a retractable one, deletions are not resolved yet."""

    kind = "source"
    stream: str


@dataclass(frozen=True)
class ResolveNode(Node):
    """Finds for each negative tuple of a retractable stream the tuple that it deletes.

    Its one identity column is the arrival number of the tuple. `window` and `time` are the stream's.
    """

    kind = "resolve"
    stateful = True
    stream: str
    time: int
    window: int | None


@dataclass(frozen=True)
class SelectNode(Node):
    kind = "select"
    predicate: Expression


@dataclass(frozen=True)
class ProjectNode(Node):
    kind = "project"
    expressions: tuple[Expression, ...]


@dataclass(frozen=True)
class LookupNode(Node):
    """Joins each row with the relation's tuples: equal keys, then the residual over row + tuple.

    `out` picks the output columns from the row's columns followed by the relation's.
    `relation_key` are expressions over the relation's columns, one for each of `row_key`.
    """

    kind = "lookup"
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]
    residual: Expression | None
    out: tuple[int, ...]


@dataclass(frozen=True)
class JoinNode(Node):
    """Joins two inputs on their ports' keys (equal and not NULL), then the residual.

    The residual and `out` address the left row followed by the right. A row of the output
    lives where both live; its identity is the left's followed by the right's.
    """

    kind = "join"
    stateful = True
    residual: Expression | None
    out: tuple[int, ...]


@dataclass(frozen=True)
class MergeNode(Node):
    """All rows of all inputs. With identities, the first one is the number of the input."""

    kind = "merge"


@dataclass(frozen=True)
class AggregateNode(Node):
    """Groups by its port's key (NULL is a group); output is the keys followed by the calls' results.

    A result row lives from the instant at which the group got it until the instant at which
    it changes (an early end); its one identity column is unique for ever.
    """

    kind = "aggregate"
    stateful = True
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True)
class DistinctNode(Node):
    """The distinct rows of all its inputs together (DISTINCT; UNION with several ports)."""

    kind = "distinct"
    stateful = True


@dataclass(frozen=True)
class ExceptNode(Node):
    """The distinct rows that are alive in the first input and not in the second."""

    kind = "except"
    stateful = True


@dataclass(frozen=True)
class ChangelogNode(Node):
    """Turns the natural end of each row into an early end, told when it is reached."""

    kind = "changelog"
    stateful = True


@dataclass(frozen=True)
class OutputNode(Node):
    """Where a query's records leave. A changelog's records have an instant and no end."""

    kind = "output"
    query: str
    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int


KINDS: dict[str, type[Node]] = {
    cls.kind: cls
    for cls in (
        SourceNode,
        ResolveNode,
        SelectNode,
        ProjectNode,
        LookupNode,
        JoinNode,
        MergeNode,
        AggregateNode,
        DistinctNode,
        ExceptNode,
        ChangelogNode,
        OutputNode,
    )
}


def node_to_json(node: Node) -> dict[str, Any]:
    form = {field.name: _plain(getattr(node, field.name)) for field in dataclasses.fields(node)}
    return {"kind": node.kind, **form}


def node_from_json(form: dict[str, Any]) -> Node:
    cls = KINDS[form["kind"]]
    return cls(**{field.name: _typed(field.name, form[field.name]) for field in dataclasses.fields(cls)})


def _plain(value: Any) -> Any:
    match value:
        case Type():
            return str(value)
        case Expression():
            return to_json(value)
        case Port() | AggregateCall():
            return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case tuple():
            return [_plain(item) for item in value]
    return value


_TYPES = {"types", "relation_types"}
_EXPRESSIONS = {"key", "expressions", "row_key", "relation_key", "args"}


def _typed(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "type":
        return Type.parse(value)
    if name in _TYPES:
        return tuple(map(Type.parse, value))
    if name in _EXPRESSIONS:
        return tuple(map(from_json, value))
    if name in ("predicate", "residual"):
        return from_json(value)
    if name == "ports":
        return tuple(Port(**{k: _typed(k, v) for k, v in form.items()}) for form in value)
    if name == "calls":
        return tuple(AggregateCall(**{k: _typed(k, v) for k, v in form.items()}) for form in value)
    return tuple(value) if isinstance(value, list) else value
