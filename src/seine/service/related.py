"""Subsumption between a query and the registered ones: searched in the computation index, in a few words.

Cites: ARGUS 5.1.3 (equivalence and subsumption)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.catalog.catalog import Catalog
from seine.catalog.catalog_view import CatalogView
from seine.catalog.index import Match, Placement
from seine.lifecycle.edit import Outcome
from seine.lifecycle.registrar import Registrar
from seine.network.network import PreviewedQuery
from seine.network.plan.running_plan import running_plan
from seine.optimizer.block import Blocks
from seine.service.answers import MOST_QUERIES, OutcomeAnswer, RelationAnswer
from seine.service.indexing import placements

_MOST_PARTS = 8  # of a query
_MOST_NAMES = 5

# What is equal, less and more of a kind; others are conditions.
_CONDITIONS = ("equal to", "covered by", "covers")
_WORDS = {
    "group": ("the groups of", "finer than", "coarser than"),
    "union": ("the union of", "more inputs than", "fewer inputs than"),
    "union_all": ("the union of", "more inputs than", "fewer inputs than"),
    "except": ("the difference of", "takes away more than", "takes away less than"),
}


@dataclass(frozen=True)
class Related:
    """Names of queries of which a part equals a part of this one, asks for less, or asks for more.

    To ask for less is to have weaker conditions, fewer keys of groups, fewer inputs. The
    nearest come first, and not all are named if they are many.
    """

    kind: str
    over: tuple[str, ...]
    equal: tuple[str, ...]
    weaker: tuple[str, ...]
    stronger: tuple[str, ...]

    def to_json(self) -> RelationAnswer:
        return {
            "kind": self.kind,
            "over": list(self.over),
            "equal": list(self.equal),
            "weaker": list(self.weaker),
            "stronger": list(self.stronger),
            "text": str(self),
        }

    def __str__(self) -> str:
        """
        >>> str(Related("select", ("s",), ("q7",), ("q3", "q12"), ()))
        's: equal to q7; covered by q3, q12'
        """
        lists = (self.equal, self.weaker, self.stronger)
        words = zip(_WORDS.get(self.kind, _CONDITIONS), lists, strict=True)
        text = "; ".join(f"{word} {', '.join(names)}" for word, names in words if names)
        return f"{', '.join(self.over)}: {text}" if self.over else text


class RelatedQueries:
    """What queries of a service have in common with others."""

    def __init__(self, registrar: Registrar, catalog: Catalog) -> None:
        self._registrar, self._catalog = registrar, catalog

    def of(self, name: str) -> tuple[Query, list[Related]]:
        """A query, and what it has in common with the others at this moment."""
        view = self._registrar.view
        registered = view.find(name)
        if isinstance(registered.query.plan, Search | DocumentQuery):  # they enter nothing
            return registered.query, []
        plan = running_plan(registered.query, registered.birth_epoch, view.estimates)
        with self._catalog.read() as snapshot:
            placed = placements(registered.query.name, plan, Blocks())
            return registered.query, related(snapshot, placed)

    def of_change(self, outcome: Outcome) -> dict[str, list[Related]] | None:
        """What queries that begin have in common with others; None if they are too many.

        The change is true already, and the next one need not wait for this.
        """
        computes = outcome.computes
        if len(computes) > MOST_QUERIES:
            return None
        with self._catalog.read() as snapshot:
            return {name: related(snapshot, computes[name]) for name in computes}

    def preview(self, query: Query) -> tuple[PreviewedQuery, list[Related]]:
        """What a registration of a query would do, and what it has in common with others; nothing changes."""
        previewed = self._registrar.preview(query)
        placed = placements(query.name, previewed.added.plan, previewed.added.blocks)
        with self._catalog.read() as snapshot:
            return previewed, related(snapshot, placed)


def outcome_answer(
    outcome: Outcome, relations: Mapping[str, Sequence[Related]] | None = None
) -> OutcomeAnswer:
    """The answer of a change; `relations` are None if nobody has looked."""
    return {
        "version": outcome.version,
        "entry": outcome.entry,
        "registered": list(outcome.registered),
        "dropped": list(outcome.dropped),
        "related": None
        if relations is None
        else {name: [one.to_json() for one in several] for name, several in relations.items()},
    }


def related(catalog: CatalogView, placements: Sequence[Placement]) -> list[Related]:
    """Of each part of a query that has something in common with others, with whom, and how."""
    relations = [_search(catalog, placement) for placement in placements[-_MOST_PARTS:]]
    return [one for one in relations if one.equal or one.weaker or one.stronger]


def _search(catalog: CatalogView, placement: Placement) -> Related:
    query, topology, predicates = placement.query, placement.topology, placement.predicates
    index = catalog.users_index
    equal = index.equivalent(topology, predicates)
    over = () if topology.kind in _WORDS else tuple(map(_shown, topology.inputs))
    return Related(
        topology.kind,
        over,
        _names([equal] if equal else [], query),
        _names(index.weaker(topology, predicates, _MOST_NAMES).matches, query),
        _names(index.stronger(topology, predicates, _MOST_NAMES).matches, query),
    )


def _shown(name: str) -> str:
    """A table, or what a query computes, which has no name that says something."""
    return f"its {name[1:].split()[0]}" if name.startswith("(") else name


def _names(matches: Iterable[Match], query: str) -> tuple[str, ...]:
    """The queries of these matches, but for one."""
    names = dict.fromkeys(name for match in matches for name in match.queries if name != query)
    return tuple(names)[:_MOST_NAMES]
