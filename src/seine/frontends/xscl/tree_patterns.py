"""The parts of an XSCL query: two tree patterns and the join between them.

Cites: MMQJP 2 (XSCL)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PathStep:
    """One step of a path: its axis (/ or //), a name or *, a variable, and predicates."""

    axis: str
    name: str
    is_attribute: bool = False
    variable: str | None = None
    predicates: tuple[tuple[PathStep, ...], ...] = ()


@dataclass(frozen=True)
class TreePattern:
    """A tree pattern over the documents of one stream."""

    stream: str
    steps: tuple[PathStep, ...]


@dataclass(frozen=True)
class XsclQuery:
    """A join of two tree patterns: equalities of their variables, and their distance in time (None: any)."""

    left: TreePattern
    right: TreePattern
    ordered: bool  # FOLLOWED BY; else JOIN
    equalities: tuple[tuple[str, str], ...]  # of a left variable and a right one
    within: int | None
    publish: str | None = None


def variables(steps: tuple[PathStep, ...]) -> Iterator[str]:
    """The variables bound along steps and in their predicates, in order of writing."""
    for step in steps:
        if step.variable is not None:
            yield step.variable
        for predicate in step.predicates:
            yield from variables(predicate)
