"""Nodes of the network as JSON, and back."""

from __future__ import annotations

import dataclasses
from typing import Any

from seine.algebra.expressions import Expression, from_json, to_json
from seine.algebra.memory_limit import MemoryLimit
from seine.algebra.plan import AggregateCall
from seine.algebra.star import Star, star_from_json, star_to_json
from seine.algebra.types import Type
from seine.graph.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DerivedPunctuationsNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    Filter,
    FinalNode,
    FinalTime,
    Form,
    JoinNode,
    LimitedNode,
    LookupNode,
    Member,
    MergeNode,
    MultiJoinNode,
    Node,
    Port,
    PrefilterNode,
    Punctuated,
    PunctuationsNode,
    Purge,
    RegroupNode,
    Releases,
    ResolveNode,
    SourceNode,
    Static,
)

KINDS: dict[str, type[Node]] = {
    cls.kind: cls
    for cls in (
        SourceNode,
        PunctuationsNode,
        ResolveNode,
        PrefilterNode,
        RegroupNode,
        LookupNode,
        JoinNode,
        LimitedNode,
        MultiJoinNode,
        FanNode,
        MergeNode,
        AggregateNode,
        DistinctNode,
        ExceptNode,
        ChangelogNode,
        FinalNode,
        DeliverNode,
        DerivedPunctuationsNode,
    )
}


def node_to_json(node: Node) -> dict[str, Any]:
    form = {field.name: _plain(getattr(node, field.name)) for field in dataclasses.fields(node)}
    return {"kind": node.kind, **form}


def node_from_json(form: dict[str, Any]) -> Node:
    cls = KINDS[form["kind"]]
    known = [field.name for field in dataclasses.fields(cls) if field.name in form]
    return cls(**{name: _typed(name, form[name]) for name in known})


def _plain(value: Any) -> Any:
    match value:
        case Type():
            return str(value)
        case Expression():
            return to_json(value)
        case _ if isinstance(value, _INNER):
            return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case Star():
            return star_to_json(value)
        case MemoryLimit():
            return dataclasses.asdict(value)
        case tuple():
            return [_plain(item) for item in value]
    return value


_TYPES = {"types", "relation_types"}
_INNER = (AggregateCall, Filter, FinalTime, Form, Member, Port, Punctuated, Purge, Releases, Static)
_EXPRESSIONS = {"key", "expressions", "row_key", "relation_key", "args", "checks"}
_PARTS: dict[str, Any] = {
    "ports": Port,
    "calls": AggregateCall,
    "carried": AggregateCall,
    "filters": Filter,
    "forms": Form,
    "members": Member,
    "punctuated": Punctuated,
    "statics": Static,
    "purges": Purge,
    "clocks": FinalTime,
}


def _typed(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "type":
        return Type.parse(value)
    if name in _TYPES:
        return tuple(map(Type.parse, value))
    if name in _EXPRESSIONS:
        return tuple(map(from_json, value))
    if name in ("shape", "importance", "expression"):
        return from_json(value)
    if name == "star":
        return star_from_json(value)
    if name == "memory":
        return MemoryLimit(**value)
    if name in _PARTS:
        return tuple(_part(_PARTS[name], form) for form in value)
    if name == "releases":
        return _part(Releases, value)
    if name == "filter":
        return _part(Filter, value)
    return tuple(value) if isinstance(value, list) else value


def _part(cls: Any, form: dict[str, Any]) -> Any:
    return cls(**{name: _typed(name, value) for name, value in form.items()})
