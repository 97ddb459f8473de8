"""What is entered in the index, and what a search of it finds."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.optimizer.canonical.atoms import PredicateSet

LAYERS = ("direct", "selection", "join", "group", "set")


@dataclass(frozen=True)
class Topology:
    """Over what conditions are asked: an operator of a kind, its inputs by name, and their keys.

    Columns of the conditions address the rows of the inputs one after the other.
    """

    kind: str
    inputs: tuple[str, ...]
    keys: tuple[tuple[Expression, ...], ...] = ()


@dataclass(frozen=True)
class Placement:
    """A query's conditions over a topology. `layer` says which ancestors that is: see `Spot`."""

    query: str
    topology: Topology
    predicates: PredicateSet
    layer: str = "direct"

    def __post_init__(self) -> None:
        if self.layer not in LAYERS:
            raise ValueError(f"there is no layer {self.layer!r}")
        if not all(self.predicates):
            raise ValueError("a clause has at least one atom")


@dataclass(frozen=True)
class Match:
    """An entered predicate set and who has it: the first `USERS` queries, by name."""

    predicates: PredicateSet
    queries: tuple[str, ...]


@dataclass(frozen=True)
class SearchResult:
    """The matches, nearest first. If `complete`, there are no others but those beyond the limit asked for.

    `steps` counts the probes of an index and the rows they returned.
    """

    matches: tuple[Match, ...]
    complete: bool
    steps: int
