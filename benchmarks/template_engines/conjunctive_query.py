"""The conjunctive query CQ_T of a template, evaluated for all its queries and many documents at once.

For the template var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6 it is

    R_outT(qid, docid, node1, ..., node6, wl) :-
        R_doc(docid, node2, s),  R_bin(docid, var1, var2, node1, node2),
        R_docW(node5, s),        R_binW(var4, var5, node4, node5),
        R_doc(docid, node3, s'), R_bin(docid, var1, var3, node1, node3),
        R_docW(node6, s'),       R_binW(var4, var6, node4, node6),
        R_T(qid, var1, var2, var3, var4, var5, var6, wl)

Join order: the first value join gives pairs of nodes with equal strings, R_bin their pairs of variables,
and with these R_T is joined; then the roots are bound upwards, and each further value join binds its two
nodes downwards and compares their strings. What the value joins leave unbound (in a whole join graph) comes
last. Each step is one join of arrays.

Cites: MMQJP 4.4 (Figure 7, Table 4f)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.template_engines.partial_bindings import PartialBindings
from benchmarks.template_engines.row_prefixes import RowPrefixes
from benchmarks.template_engines.template_relation import TemplateRelation
from seine.algebra.arrays import BoolArray, IntArray

_MOST_BINDINGS_AT_ONCE = 4_000_000  # partial results; bounds the memory of a step


class SideWitnesses(Protocol):
    """What a conjunctive query asks of R_bin and R_doc of one side, or of a view of them."""

    def parents(self, documents: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]: ...

    def children(
        self, documents: IntArray, pairs: IntArray, parents: IntArray
    ) -> tuple[IntArray, IntArray]: ...

    def joined_children(
        self, documents: IntArray, pairs: IntArray, parents: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]: ...

    def strings(self, documents: IntArray, nodes: IntArray) -> tuple[IntArray, BoolArray]: ...


class JoinedNodes(NamedTuple):
    """Nodes of equal strings in two documents, each with its parent and their pair of variables."""

    left: IntArray
    left_pair: IntArray
    left_parent: IntArray
    left_node: IntArray
    right: IntArray
    right_pair: IntArray
    right_parent: IntArray
    right_node: IntArray
    string: IntArray


@dataclass(frozen=True)
class _Climb:
    """Bind the parent of a bound metavariable."""

    node: int
    parent: int


@dataclass(frozen=True)
class _Descend:
    """Bind a metavariable below its parent; with its string, if a value join compares it."""

    node: int
    parent: int
    joined: bool


@dataclass(frozen=True)
class _Compare:
    """Keep what has equal strings at two metavariables."""

    left: int
    right: int


class ConjunctiveQuery:
    """CQ_T: the plan of a template, with its R_T indexed by the pairs that its first value join needs."""

    def __init__(self, relation: TemplateRelation) -> None:
        self.relation = relation
        template = relation.template
        self._lefts = len(template.left)
        self._parents = (*template.left, *(p if p < 0 else p + self._lefts for p in template.right))
        left, right = template.value_joins[0]
        self._first = left, right + self._lefts
        self._steps = tuple(self._plan())
        binding = [step.node for step in self._steps if not isinstance(step, _Compare)]
        self._prefixes = RowPrefixes(relation.pairs, [*self._first, *binding])

    @property
    def most_pairs(self) -> int:
        """How many node pairs of the first value join may come at once: each meets many rows of R_T."""
        return max(1, _MOST_BINDINGS_AT_ONCE // self._prefixes.most_extensions)

    def first_pairs(self, codes: int) -> tuple[BoolArray, BoolArray]:
        """Which pairs of variables some row has at the left and the right end of its first value join."""
        wanted = np.zeros((2, codes), dtype=bool)
        for side, node in enumerate(self._first):
            wanted[side, self.relation.pairs[:, node]] = True
        return wanted[0], wanted[1]

    def evaluate(
        self, joined: Iterable[JoinedNodes], left: SideWitnesses, right: SideWitnesses
    ) -> Iterator[PartialBindings]:
        """R_outT, in pieces, from the node pairs of the first value join and the witnesses of both sides."""
        for piece in joined:
            bindings, level = self._start(piece), 0
            for step in self._steps:
                if isinstance(step, _Compare):
                    bindings = self._compare(step, bindings, left, right)
                else:
                    bindings = self._bind(step, level, bindings, left, right)
                    level += 1
            if len(bindings):
                owners, rows = self._prefixes.rows(bindings.row)
                yield replace(bindings.take(owners), row=rows)

    def _start(self, piece: JoinedNodes) -> PartialBindings:
        """The first value join with R_T."""
        owners, prefixes = self._prefixes.first(piece.left_pair, piece.right_pair)
        bindings = PartialBindings(prefixes, piece.left[owners], piece.right[owners], {}, {})
        ends = ((piece.left_node, piece.left_parent), (piece.right_node, piece.right_parent))
        for node, (bound, above) in zip(self._first, ends, strict=True):
            bindings = bindings.bind(node, bound[owners], piece.string[owners])
            if self._parents[node] >= 0:
                bindings = bindings.bind(self._parents[node], above[owners])
        return bindings

    def _plan(self) -> Iterator[_Climb | _Descend | _Compare]:
        joins = [(a, b + self._lefts) for a, b in self.relation.template.value_joins]
        joined = {node for ends in joins for node in ends}
        bound = set(self._first)
        for node in self._first:
            parent = self._parents[node]
            bound |= {parent} if parent >= 0 else set()
            while parent >= 0 and self._parents[parent] >= 0:
                yield _Climb(parent, self._parents[parent])
                parent = self._parents[parent]
                bound.add(parent)
        for ends in joins[1:]:
            for end in ends:
                yield from self._down_to(end, bound, joined)
            yield _Compare(*ends)
        for node in range(len(self._parents)):
            yield from self._down_to(node, bound, joined)

    def _down_to(self, node: int, bound: set[int], joined: set[int]) -> Iterator[_Descend]:
        if node not in bound:
            yield from self._down_to(self._parents[node], bound, joined)
            yield _Descend(node, self._parents[node], node in joined)
            bound.add(node)

    def _bind(
        self,
        step: _Climb | _Descend,
        level: int,
        bindings: PartialBindings,
        left: SideWitnesses,
        right: SideWitnesses,
    ) -> PartialBindings:
        """Bind one more metavariable, for each extension of the rows' prefixes by its pair."""
        owners, prefixes = self._prefixes.extended(level, bindings.row)
        bindings = replace(bindings.take(owners), row=prefixes)
        pairs = self._prefixes.last_pair(level + 1, prefixes)
        documents = bindings.left if step.node < self._lefts else bindings.right
        witnesses = left if step.node < self._lefts else right
        if isinstance(step, _Climb):
            owners, of, parents = witnesses.parents(documents, bindings.nodes[step.node])
            kept = np.flatnonzero(of == pairs[owners])
            return bindings.take(owners[kept]).bind(step.parent, parents[kept])
        above = bindings.nodes[step.parent]
        if not step.joined:
            owners, nodes = witnesses.children(documents, pairs, above)
            return bindings.take(owners).bind(step.node, nodes)
        owners, nodes, strings = witnesses.joined_children(documents, pairs, above)
        return bindings.take(owners).bind(step.node, nodes, strings)

    def _compare(
        self, step: _Compare, bindings: PartialBindings, left: SideWitnesses, right: SideWitnesses
    ) -> PartialBindings:
        ends = ((step.left, bindings.left, left), (step.right, bindings.right, right))
        for node, documents, witnesses in ends:
            if node not in bindings.strings:  # bound upwards, from a node below it
                strings, known = witnesses.strings(documents, bindings.nodes[node])
                assert known.all(), "R_doc has every node that a value join compares"
                bindings = bindings.bind(node, bindings.nodes[node], strings)
        return bindings.take(np.flatnonzero(bindings.strings[step.left] == bindings.strings[step.right]))
