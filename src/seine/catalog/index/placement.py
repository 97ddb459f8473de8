"""The records of the computation index: what is inserted, and what a search returns."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.optimizer.canonical.atoms import PredicateSet

LAYERS = ("direct", "selection", "join", "group", "set")


@dataclass(frozen=True)
class Topology:
    """The rows that conditions range over: an operator by its kind, its inputs and its equi-join keys.

    The columns of a condition address the columns of the inputs, one input after the other.
    """

    kind: str
    inputs: tuple[str, ...]
    keys: tuple[tuple[Expression, ...], ...] = ()


@dataclass(frozen=True)
class Placement:
    """A query's conditions over a topology; `layer` says of what its rows are: tuples, or joined."""

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
    """An indexed predicate set and the names of queries that have it, at most `MOST_USERS` of them."""

    predicates: PredicateSet
    queries: tuple[str, ...]


@dataclass(frozen=True)
class SearchResult:
    """The matches, nearest first. If `complete`, there are no others but those beyond the requested limit.

    `steps` counts the probes of an index and the rows they returned.
    """

    matches: tuple[Match, ...]
    complete: bool
    steps: int
