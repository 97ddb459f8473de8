"""Placing binary joins and lookups in relations, with their prefilters, punctuations and filters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Lookup, Query
from seine.graph.node import Node
from seine.network.joins.join_punctuations import punctuating_stream, punctuations_of
from seine.network.joins.join_sharing import JoinStep
from seine.network.joins.prefilters import Prefilters
from seine.network.joins.stream_placing import streams_of
from seine.network.joins.tree_placing import TreePlacing, claim_punctuations
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.join.join_node import JoinNode, join_signature
from seine.operators.join.lookup_node import LookupNode, lookup_signature


class JoinPlacer:
    """Places the joins of one query."""

    def __init__(self, placer: Placer, prefilters: Prefilters, query: Query, strategy: Strategy) -> None:
        self._placer = placer
        self._prefilters = prefilters
        self._query = query
        self._strategy = strategy

    @cached_property
    def _streams(self) -> dict[str, StreamDef]:
        return streams_of(self._query.plan)

    def join(
        self,
        left: Node,
        right: Node,
        step: JoinStep,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
        tree: TreePlacing | None = None,
        generation: int = 0,
    ) -> JoinNode:
        """Pairs of the rows of two nodes.

        `before` are the conjuncts that keys of joins below have decided; `decided` has those of its own, too.
        `tree` is the tree of joins, freed by punctuations, of which it is the next one.
        """
        join = self._standing(left, right, step, tree, generation)
        if join is None:
            prefilters = [self._prefilters.new(left), self._prefilters.new(right)]
            keys = (step.keys.left, step.keys.right)
            common = self._placer.common(
                left.types + right.types,
                left.streams + right.streams,
                left.hold + right.hold,
                left.identities + right.identities,
                max(left.stage, right.stage) + 1,
                out=(),
                owner=self._placer.join_owner,
            )
            punctuations = tree.punctuations(step.keys.left) if tree else []
            punctuations += punctuations_of(self._placer, self._streams, (left, right), keys)
            ports = [port_of(prefilter, key) for prefilter, key in zip(prefilters, keys, strict=True)]
            ports += [port for port, _ in punctuations]
            candidate = JoinNode(
                ports=tuple(ports),
                filters=(),
                purges=tuple(purge for _, purge in punctuations),
                lazy=self._strategy.lazy,
                purge_batch=self._strategy.purge_batch,
                times=(self._time(left), self._time(right)),
                generation=generation,
                **common,
            )
            join = self._placer.site.insert(candidate, self._identity(left, right, step, tree, generation))
        else:
            claim_punctuations(self._placer, join.inputs[2:])
        width = len(left.types)
        self._prefilters.claim(join, 0, conditions.necessary(0, width, before))
        end = width + len(right.types)
        right_conditions = conditions.necessary(width, end, before)
        self._prefilters.claim(join, 1, shift_back(right_conditions, width))
        self._placer.claim_node(join.id)
        self._placer.claim_filter(join.id, conditions.necessary(0, end, decided))
        return join

    def _identity(
        self, left: Node, right: Node, step: JoinStep, tree: TreePlacing | None, generation: int
    ) -> Hashable:
        listens, owner = tree is not None and tree.listens(), self._placer.join_owner
        return join_signature(left.id, right.id, step.keys.left, step.keys.right, owner, listens, generation)

    def _standing(
        self, left: Node, right: Node, step: JoinStep, tree: TreePlacing | None, generation: int
    ) -> JoinNode | None:
        """The join that does this, if there is one; outside of a tree any will do."""
        site = self._placer.site
        if tree is None and step.existing is not None:
            existing: Node | None = site.nodes[step.existing]
        else:
            existing = site.find(self._identity(left, right, step, tree, generation))
        assert existing is None or isinstance(existing, JoinNode)
        return existing

    def lookup(
        self,
        left: Node,
        item: Lookup,
        step: JoinStep,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
    ) -> Node:
        """Rows of a node, each with the tuples of a relation that it meets."""
        relation, keys = item.relation, step.keys
        identity = lookup_signature(left.id, relation.name, keys.left, keys.right, self._placer.join_owner)
        node = self._placer.site.find(identity)
        if node is None:
            candidate = LookupNode(
                ports=(port_of(self._prefilters.new(left)),),
                filters=(),
                relation=relation.name,
                relation_types=relation.types,
                row_key=keys.left,
                relation_key=keys.right,
                **self._placer.common(
                    left.types + relation.types,
                    left.streams,
                    left.hold,
                    left.identities,
                    left.stage,
                    out=(),
                    owner=self._placer.join_owner,
                ),
            )
            node = self._placer.site.insert(candidate, identity)
        width = len(left.types)
        end = width + len(relation.types)
        self._prefilters.claim(node, 0, conditions.necessary(0, width, before))
        self._placer.claim_node(node.id)
        self._placer.claim_filter(node.id, conditions.necessary(0, end, decided))
        return node

    def _time(self, node: Node) -> int | None:
        """Where the start of a row is, if it is that of one tuple."""
        stream = punctuating_stream(self._placer, node)
        return None if stream is None else self._streams[stream].time
