"""Nodes of the network as JSON, and back."""

from __future__ import annotations

from typing import Any

from seine.graph.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DerivedPunctuationsNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    FinalNode,
    JoinNode,
    LimitedNode,
    LookupNode,
    MergeNode,
    MultiJoinNode,
    Node,
    PrefilterNode,
    PunctuationsNode,
    RegroupNode,
    ResolveNode,
    SourceNode,
)
from seine.graph.typed_json import read_json, write_json

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
    return {"kind": node.kind, **write_json(node)}


def node_from_json(form: dict[str, Any]) -> Node:
    return read_json(KINDS[form["kind"]], form)
