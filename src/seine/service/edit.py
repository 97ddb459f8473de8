"""A change of what stands, worked out before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.plan import Query
from seine.errors import Position
from seine.frontends.script.script import Declarations, Script
from seine.service.present import Present, RegisteredQuery


@dataclass(frozen=True)
class Edit:
    """What is declared afterwards, and which queries come, go, begin to run and cease to, by key.

    A query that is replaced goes and comes; one that is paused ceases and does not go.
    """

    declared: Declarations
    come: Mapping[str, Query] = field(default_factory=dict)
    go: frozenset[str] = frozenset()
    pause: frozenset[str] = frozenset()
    resume: frozenset[str] = frozenset()
    positions: Mapping[str, Position] = field(default_factory=dict)

    def begin(self, present: Present) -> dict[str, Query]:
        """The queries that begin to run."""
        return {**self.come, **{key: present.standing[key].query for key in sorted(self.resume)}}

    def cease(self, present: Present) -> dict[str, Query]:
        """The queries that run and will not."""
        ending = [key for key in sorted(self.go | self.pause) if not present.standing[key].paused]
        return {key: present.standing[key].query for key in ending}

    def standing(self, present: Present, begun: Mapping[str, RegisteredQuery]) -> dict[str, RegisteredQuery]:
        """Who stands afterwards, in the order of registration."""
        standing = present.standing.copy()  # the one thing here that depends on how many there are
        for key in self.go:
            del standing[key]
        for key in self.pause:
            standing[key] = replace(standing[key], paused=True)
        standing.update(begun)
        return standing

    def relations(self, present: Present) -> list[RelationDef]:
        """The relations that are new."""
        before, after = present.declared.relations, self.declared.relations
        return [relation for name, relation in after.items() if before.get(name) is not relation]

    def streams(self, present: Present) -> tuple[list[StreamDef], list[str]]:
        """The streams that join and the names of those that leave; one may do both."""
        before, after = present.declared.streams, self.declared.streams
        joining = [stream for name, stream in after.items() if before.get(name) is not stream]
        return joining, [name for name, stream in before.items() if after.get(name) is not stream]


def edit_of_script(script: Script) -> Edit:
    queries = script.declarations.queries
    return Edit(
        script.declarations,
        come={key: queries[key] for key in script.positions},
        go=frozenset(script.dropped),
        positions=script.positions,
    )


def edit_of_drop(present: Present, key: str) -> Edit:
    declared = present.declared.copy()
    del declared.queries[key]
    return Edit(declared, go=frozenset([key]))


def edit_of_pause(present: Present, key: str) -> Edit:
    return Edit(present.declared, pause=frozenset([key]))


def edit_of_resume(present: Present, key: str) -> Edit:
    return Edit(present.declared, resume=frozenset([key]))
