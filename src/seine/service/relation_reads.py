"""What was read of relations for a change, before the change has its turn.

Reading may take as long as a database likes. So it is done while nobody waits, and when the change has its
turn it is looked whether what was read is what it needs: another change may have come before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from seine.algebra.definitions import RelationDef
from seine.intake.admission import Letter
from seine.intake.relations import check_relation, load_relation


class LoadedRelation(NamedTuple):
    """The tuples of a relation as they were read, and its dead letters."""

    definition: RelationDef
    tuples: pa.RecordBatch
    dead: list[Letter]


@dataclass(frozen=True)
class NeededRelations:
    """The relations that a change declares, and those that come into use with it."""

    declared: tuple[RelationDef, ...]
    used: tuple[RelationDef, ...]


@dataclass
class RelationReads:
    """Relations that were read, or only looked at, by name."""

    _loaded: dict[str, LoadedRelation] = field(default_factory=dict)
    _checked: dict[str, RelationDef] = field(default_factory=dict)

    def suffice(self, needed: NeededRelations) -> bool:
        """Has everything been read that a change needs, as it is declared now?"""
        return all(map(self._has, needed.used)) and all(map(self._knows, needed.declared))

    def read(self, needed: NeededRelations) -> None:
        """Read what is missing; an error if it cannot be read."""
        for relation in _missing(needed.used, self._has):
            self._loaded[relation.name] = LoadedRelation(relation, *load_relation(relation))
        for relation in _missing(needed.declared, self._knows):
            check_relation(relation)
            self._checked[relation.name] = relation

    def loaded(self, relation: RelationDef) -> LoadedRelation:
        """What was read of a relation."""
        assert self._has(relation)
        return self._loaded[relation.name]

    def _has(self, relation: RelationDef) -> bool:
        loaded = self._loaded.get(relation.name)
        return loaded is not None and loaded.definition == relation

    def _knows(self, relation: RelationDef) -> bool:
        return self._has(relation) or self._checked.get(relation.name) == relation


def _missing(relations: Iterable[RelationDef], known: Callable[[RelationDef], bool]) -> list[RelationDef]:
    return [relation for relation in relations if not known(relation)]
