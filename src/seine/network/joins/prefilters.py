"""Prefilters: selections in front of a join or lookup that keep out what no query can use there.

Cites: ARGUS 4 (conditional materialisation)
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.expressions import Expression, conjunction
from seine.graph.node import Node
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.match.prefilter_node import PrefilterNode
from seine.operators.stream.source_node import SourceNode
from seine.optimizer.estimates import Estimates


class Prefilters:
    """Places the prefilters of one query."""

    def __init__(self, placer: Placer, strategy: Strategy, estimates: Estimates | None) -> None:
        self._placer = placer
        self._site = placer.site
        self._strategy = strategy
        self._estimates = estimates

    def new(self, node: Node) -> PrefilterNode:
        """A prefilter for the rows of a node."""
        return self._site.insert(
            PrefilterNode(ports=(port_of(node),), filters=(), **self._placer.like(node)), None
        )

    def claim(self, join: Node, port: int, conditions: Sequence[Expression]) -> None:
        """Let what satisfies these conditions come to a port of a join."""
        prefilter = join.ports[port].node
        self._placer.claim_node(prefilter)
        below = self._site.nodes[self._site.beneath_prefilter(join, port)]
        self._placer.claim_filter(prefilter, conditions if self._is_selective(below, conditions) else ())

    def _is_selective(self, node: Node, conditions: Sequence[Expression]) -> bool:
        """Whether conditions on a stream keep out enough to be asked before a join asks them of pairs."""
        if self._estimates is None or not isinstance(node, SourceNode):
            return True
        whole = conjunction(list(conditions)) if node.stream in self._estimates.samples else None
        if whole is None:
            return True
        return self._estimates.selectivity(node.stream, whole) <= self._strategy.materialise
