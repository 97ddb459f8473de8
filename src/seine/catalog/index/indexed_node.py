"""Spots of the network: a node seen from its parents, from its selection chain and from one join below.

Searching by direct parents alone would follow chains of selections. So each node is entered up to
three times: against its direct parents, against its SVOA (the closest ancestor that is a join or a
base stream, itself if it is one), and against its JVOAs (the closest such ancestors of its SVOA).

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
class Spot:
    """A node: its name, its kind, what it reads, and what it asks of the rows that it reads.

    A selection keeps the columns of its input; a join has those of its inputs one after the other,
    and `keys` are the equi-keys over each input's own row.
    """

    name: str
    kind: str
    width: int
    inputs: tuple[Spot, ...] = ()
    predicates: PredicateSet = ()
    keys: tuple[tuple[Expression, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no kind of spot {self.kind!r}")
        count = len(self.inputs)
        if count != {"source": 0, "select": 1}.get(self.kind, count) or (self.kind == "join" and count < 2):
            raise ValueError(f"a {self.kind} cannot have {count} inputs")

    @property
    def selection_ancestor(self) -> Spot:
        """The SVOA."""
        return self.inputs[0].selection_ancestor if self.kind == "select" else self

    @property
    def join_ancestors(self) -> tuple[Spot, ...]:
        """The JVOAs; a base stream has none."""
        if self.kind == "select":
            return self.selection_ancestor.join_ancestors
        return tuple(each.selection_ancestor for each in self.inputs)

    @property
    def since_selection(self) -> PredicateSet:
        """What is asked of the rows of the SVOA."""
        if self.kind != "select":
            return ()
        return _merged(self.inputs[0].since_selection, self.predicates)

    @property
    def since_join(self) -> PredicateSet:
        """What is asked of the rows of the JVOAs, one after the other."""
        if self.kind == "select":
            return _merged(self.selection_ancestor.since_join, self.since_selection)
        found, offset = self.predicates, 0
        for each in self.inputs:
            found = _merged(found, _shifted(each.since_selection, offset))
            offset += each.width
        return found


def placements_of(query: str, spot: Spot) -> list[Placement]:
    """A query's use of a spot, on each layer that it has."""
    found = []
    if spot.inputs:
        direct = Topology(spot.kind, tuple(each.name for each in spot.inputs), spot.keys)
        found.append(Placement(query, direct, spot.predicates, "direct"))
    ancestor = spot.selection_ancestor
    found.append(Placement(query, Topology("select", (ancestor.name,)), spot.since_selection, "selection"))
    if spot.join_ancestors:
        names = tuple(each.name for each in spot.join_ancestors)
        found.append(Placement(query, Topology("join", names, ancestor.keys), spot.since_join, "join"))
    return found


def _merged(one: PredicateSet, other: PredicateSet) -> PredicateSet:
    return tuple(sorted({*one, *other}, key=clause_key))


def _shifted(predicates: Iterable[Clause], offset: int) -> PredicateSet:
    moved = [[_moved(atom, offset) for atom in clause] for clause in predicates]
    return tuple(tuple(sorted(clause, key=atom_key)) for clause in moved)


def _moved(atom: Atom, offset: int) -> Atom:
    term = shift_columns(atom.term, lambda index: index + offset)
    return Atom(term, atom.op, atom.constant, atom.exact)
