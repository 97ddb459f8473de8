"""A plan node with its conditions relative to three sets of ancestors: parents, selection base, join inputs.

If nodes were indexed by their direct parents alone, a search would have to follow chains of selections. So
each node is entered up to three times: against its direct parents, against its SVOA (the closest ancestor
that is a join or a base stream, itself if it is one), and against its JVOAs (the SVOAs of the inputs of its
SVOA).

Cites: ARGUS 5.1.4 (topology connections: DPredSet, SVOA, JVOA)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seine.algebra.expressions import Expression, shift_columns
from seine.catalog.index.placement import Placement, Topology
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, atom_key, clause_key

KINDS = ("source", "select", "join")


@dataclass(frozen=True)
class IndexedNode:
    """A source, selection or join: its name, its inputs, and the predicates over the rows of its inputs.

    A selection has the columns of its input. A join has the columns of its inputs one after the other, and
    `keys` are its equi-join keys, for parent input over the columns of that input.
    """

    name: str
    kind: str
    width: int
    inputs: tuple[IndexedNode, ...] = ()
    predicates: PredicateSet = ()
    keys: tuple[tuple[Expression, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no kind of indexed node {self.kind!r}")
        count = len(self.inputs)
        if count != {"source": 0, "select": 1}.get(self.kind, count) or (self.kind == "join" and count < 2):
            raise ValueError(f"a {self.kind} cannot have {count} inputs")

    @property
    def selection_ancestor(self) -> IndexedNode:
        """The SVOA: the closest ancestor that is a join or a source, perhaps the node itself."""
        return self.inputs[0].selection_ancestor if self.kind == "select" else self

    @property
    def join_ancestors(self) -> tuple[IndexedNode, ...]:
        """The JVOAs: the SVOAs of the inputs of the join beneath; a source has none."""
        if self.kind == "select":
            return self.selection_ancestor.join_ancestors
        return tuple(parent.selection_ancestor for parent in self.inputs)

    @property
    def since_selection(self) -> PredicateSet:
        """The predicates of the node over the rows of its SVOA."""
        if self.kind != "select":
            return ()
        return _merged(self.inputs[0].since_selection, self.predicates)

    @property
    def since_join(self) -> PredicateSet:
        """The predicates of the node over the rows of its JVOAs, side by side."""
        if self.kind == "select":
            return _merged(self.selection_ancestor.since_join, self.since_selection)
        merged, offset = self.predicates, 0
        for parent in self.inputs:
            merged = _merged(merged, _shifted(parent.since_selection, offset))
            offset += parent.width
        return merged


def placements_of(query: str, node: IndexedNode) -> list[Placement]:
    """The placements of a query that uses a node: one for each set of ancestors that the node has."""
    placements = []
    if node.inputs:
        direct = Topology(node.kind, tuple(parent.name for parent in node.inputs), node.keys)
        placements.append(Placement(query, direct, node.predicates, "direct"))
    ancestor = node.selection_ancestor
    placements.append(
        Placement(query, Topology("select", (ancestor.name,)), node.since_selection, "selection")
    )
    if node.join_ancestors:
        names = tuple(parent.name for parent in node.join_ancestors)
        placements.append(Placement(query, Topology("join", names, ancestor.keys), node.since_join, "join"))
    return placements


def _merged(one: PredicateSet, other: PredicateSet) -> PredicateSet:
    return tuple(sorted({*one, *other}, key=clause_key))


def _shifted(predicates: Iterable[Clause], offset: int) -> PredicateSet:
    moved = [[_moved(atom, offset) for atom in clause] for clause in predicates]
    return tuple(tuple(sorted(clause, key=atom_key)) for clause in moved)


def _moved(atom: Atom, offset: int) -> Atom:
    term = shift_columns(atom.term, lambda index: index + offset)
    return Atom(term, atom.op, atom.constant, atom.exact)
