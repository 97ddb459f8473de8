"""The conditions of a block over its joined row: canonical, with inferred ones, and split into shapes.

Prefilters and joins need necessary conditions (`necessary`): true for every row that the query wants. What is
delivered needs all of them exactly (`exact`); where the canonical form only comes close, its guards are
checked as well. The `conjuncts` of conditions are as the query wrote them.

Cites: ARGUS 4 (transitivity), 5.1 (canonical forms)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import NamedTuple

from seine.algebra.expressions import (
    Expression,
    Literal,
    Parameter,
    conjunction,
    intern_expression,
    rewrite,
    shift_columns,
    split_shape,
)
from seine.algebra.linear import with_weights
from seine.network.plan.strategy import Strategy
from seine.optimizer.canonical.atoms import NEVER, PredicateSet, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import fewest, follows
from seine.optimizer.canonical.infer import infer
from seine.optimizer.canonical.linear_bounds import cannot_fail
from seine.optimizer.closing_times import bounding_parts
from seine.optimizer.equalities import equal_columns, is_equality


@dataclass(frozen=True)
class Shaped:
    """Expressions with their constants taken out: parameters count through all of them."""

    shape: Expression | None
    others: tuple[Expression, ...]
    constants: tuple[Literal, ...]


@dataclass(frozen=True)
class Conditions:
    """The conditions of a block over the row in which all its items stand side by side."""

    conjuncts: tuple[Expression, ...]
    strategy: Strategy

    @cached_property
    def _canonical(self) -> list[tuple[Expression, ...]]:
        """The conditions that each conjunct becomes."""
        if not self.strategy.canonical:
            return [(conjunct,) for conjunct in self.conjuncts]
        return [_clauses(conjunct) for conjunct in self.conjuncts]

    @cached_property
    def inferred(self) -> tuple[Expression, ...]:
        """What follows from them and is not among them."""
        if not self.strategy.transitivity:
            return ()
        known: PredicateSet = tuple(
            clause for conjunct in self.conjuncts for clause in canonicalise(conjunct).clauses
        )
        have = {expression for expressions in self._canonical for expression in expressions}
        return tuple(e for e in map(_expression, infer(known)) if e not in have)

    @cached_property
    def _bounds(self) -> tuple[Expression, ...]:
        """Upper bounds that would not be evaluated otherwise: of conditions that are taken as written, and of
        equalities that keys decide. Joins derive from them how long rows must be kept.
        """
        canonical = self.strategy.canonical
        written = [
            c for c in self.conjuncts if not canonical or (is_equality(c) and equal_columns(c) is None)
        ]
        return tuple(
            part for conjunct in written for part in bounding_parts(conjunct) if equal_columns(part) is None
        )

    @cached_property
    def _spans(self) -> list[tuple[int, int, int, Expression]]:
        """All that must hold of columns, with its outermost columns and its conjunct, -1 if inferred."""
        written = [(i, e) for i, es in enumerate(self._canonical) for e in es]
        every = [*written, *((-1, e) for e in (*self.inferred, *self._bounds))]
        return [(i, min(e.columns), max(e.columns), e) for i, e in every if e.columns]

    def necessary(self, start: int, end: int, without: Sequence[int] = ()) -> list[Expression]:
        """What a row must satisfy that has columns from `start` to before `end`; some conjuncts are known to
        hold.
        """
        fitting = [e for i, low, high, e in self._spans if start <= low and high < end and i not in without]
        return list(dict.fromkeys(fitting))

    def exact(self, without: Sequence[int] = ()) -> tuple[list[Expression], list[Expression]]:
        """What decides about a whole row: conditions, and checks for where these only come close."""
        shape: list[Expression] = []
        checks: list[Expression] = []
        for i, (conjunct, expressions) in enumerate(zip(self.conjuncts, self._canonical, strict=True)):
            if i not in without:
                shape += expressions
                if self.strategy.canonical:
                    checks += _guards(conjunct)
        return list(dict.fromkeys(shape)), list(dict.fromkeys(checks))

    def fewest(
        self, without: Sequence[int] = (), equal: Sequence[Expression] = ()
    ) -> tuple[list[Expression], list[Expression]]:
        """The same as `exact` in one form, however much of it follows from the rest: pipeline breakers are
        found by it. Keys have seen to it that some columns are `equal`.
        """
        if not (self.strategy.canonical and self.strategy.transitivity):
            return self.exact(without)
        forms = [canonicalise(conjunct) for conjunct in self.conjuncts]
        known = conjoin([*(forms[i].clauses for i in without), *(canonicalise(e).clauses for e in equal)])
        open_forms = [form for i, form in enumerate(forms) if i not in without]
        clauses = fewest(conjoin(form.clauses for form in open_forms), known)
        if clauses is None:
            return [_expression((NEVER,))], []
        guards = dict.fromkeys(guard for form in open_forms for guard in form.guards)
        holding = (*clauses, *known)
        checks = [g for g in guards if not (follows(holding, (g,)) or cannot_fail(g, holding))]
        return [*map(_expression, clauses)], [*map(_expression, checks)]


_expression = lru_cache(maxsize=1 << 15)(clause_expression)


@lru_cache(maxsize=1 << 15)
def _clauses(conjunct: Expression) -> tuple[Expression, ...]:
    return tuple(map(_expression, canonicalise(conjunct).clauses))


@lru_cache(maxsize=1 << 15)
def _guards(conjunct: Expression) -> tuple[Expression, ...]:
    return tuple(map(_expression, canonicalise(conjunct).guards))


def split_constants(
    conditions: Sequence[Expression], checks: Sequence[Expression] = (), outputs: Sequence[Expression] = ()
) -> tuple[Shaped, tuple[Expression, ...]]:
    """Take the constants out of conditions, checks and outputs; the first of these in canonical order."""
    if not conditions:
        return _without_conditions(tuple(checks), tuple(outputs))
    constants: list[Literal] = []
    shapes = _numbered(sorted(map(_split, conditions), key=_in_order), constants)
    rest = _numbered(map(_split, checks), constants) if checks else ()
    computed = _numbered(map(_split, outputs), constants) if outputs else ()
    return Shaped(_together(shapes), rest, tuple(constants)), computed


@lru_cache(maxsize=1 << 14)
def _without_conditions(
    checks: tuple[Expression, ...], outputs: tuple[Expression, ...]
) -> tuple[Shaped, tuple[Expression, ...]]:
    """Most queries ask for outputs that others have asked for."""
    constants: list[Literal] = []
    rest = _numbered(map(_split, checks), constants)
    computed = _numbered(map(_split, outputs), constants)
    return Shaped(None, rest, tuple(constants)), computed


def shift_back(expressions: Sequence[Expression], by: int) -> list[Expression]:
    """Expressions renumbered for rows that begin `by` columns later."""
    return [_shifted_back(e, by) for e in expressions] if by else list(expressions)


@lru_cache(maxsize=1 << 15)
def _shifted_back(expression: Expression, by: int) -> Expression:
    return shift_columns(expression, lambda index: index - by)


class _Split(NamedTuple):
    shape: Expression
    constants: tuple[Literal, ...]
    order: tuple[str, str]


_in_order = attrgetter("order")


@lru_cache(maxsize=1 << 15)
def _split(expression: Expression) -> _Split:
    """The shape, the constants, and the texts by which conditions are ordered."""
    written, constants = split_shape(rewrite(expression, with_weights))
    shape = intern_expression(written)  # it knows its text
    return _Split(shape, constants, (str(shape), str(constants)))


def _numbered(split: Iterable[_Split], constants: list[Literal]) -> tuple[Expression, ...]:
    """The shapes with their parameters counted on from the constants so far."""
    shapes: list[Expression] = []
    for shape, given, _ in split:
        shapes.append(_counted_on(shape, len(constants)) if given and constants else shape)
        constants += given
    return tuple(shapes)


@lru_cache(maxsize=1 << 14)
def _together(shapes: tuple[Expression, ...]) -> Expression | None:
    return conjunction(list(shapes))


@lru_cache(maxsize=1 << 14)
def _counted_on(shape: Expression, first: int) -> Expression:
    return rewrite(shape, lambda e: Parameter(e.index + first, e.type) if isinstance(e, Parameter) else e)
