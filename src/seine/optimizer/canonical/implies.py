"""Which conditions follow from which: atoms, clauses, predicate sets.

Never claims what is not so. Complete for what concerns the order of one term's values; beyond
that, an equal atom or a narrower pattern counts.

Cites: ARGUS 5.1.3 (subsumption of literals, OR predicates and predicate sets)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from seine.algebra.expressions import Call, Expression
from seine.algebra.linear_names import coefficients_of
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet
from seine.optimizer.canonical.compare_terms import difference
from seine.optimizer.canonical.extents import EVERYTHING, Extent, contains, extent, intersection, union
from seine.optimizer.canonical.like_patterns import prefix_of


def implies(stronger: PredicateSet, weaker: PredicateSet) -> bool:
    """Whether every row that satisfies the first satisfies the second.

    >>> from seine.algebra.expressions import Column, Literal
    >>> from seine.algebra.types import INT
    >>> a = Column(0, INT)
    >>> over = lambda n: (Atom(a, "ge", Literal(n, INT)),)
    >>> implies((over(7),), (over(5),)), implies((over(5),), (over(7),))
    (True, False)
    """
    domains = _domains(stronger)
    if any(not domain for domain in domains.values()):
        return True
    return all(any(_within(clause, goal, domains) for clause in stronger) for goal in weaker)


@lru_cache(maxsize=1 << 15)
def clause_implies(a: Clause, b: Clause) -> bool:
    """Whether the disjunction `b` holds wherever `a` does."""
    return _within(a, b, {})


def _within(clause: Clause, goal: Clause, domains: dict[Expression, Extent]) -> bool:
    parts: dict[Expression, list[Extent]] = {}
    for atom in goal:
        for view in _views(atom):
            own = extent(view)
            if own is not None:
                parts.setdefault(view.term, []).append(own)
    covered = {term: union(extents) if len(extents) > 1 else extents[0] for term, extents in parts.items()}
    return all(_atom_within(atom, goal, covered, domains) for atom in clause)


def _atom_within(
    atom: Atom, goal: Clause, covered: dict[Expression, Extent], domains: dict[Expression, Extent]
) -> bool:
    """Whether an atom, within its term's domain, implies a clause that holds for the values `covered`."""
    if atom == NEVER:
        return True
    for view in _views(atom):
        cover, domain = covered.get(view.term), domains.get(view.term) if domains else None
        own = extent(view) if cover or domain else None
        if own is not None and contains(cover or [], own if domain is None else intersection(own, domain)):
            return True
    return any(atom == other or _pattern_within(atom, other) or _defines(atom, other) for other in goal)


def _domains(conditions: PredicateSet) -> dict[Expression, Extent]:
    """The values that a term can have, by the clauses of one atom."""
    domains: dict[Expression, Extent] = {}
    for clause in conditions:
        for view in _views(clause[0]) if len(clause) == 1 else ():
            own = extent(view)
            if own is not None:
                domains[view.term] = intersection(domains.get(view.term, EVERYTHING), own)
    return domains


def _views(atom: Atom) -> Iterable[Atom]:
    """The atom, and as a comparison of a difference with zero if it compares two numbers."""
    if atom.op != "holds":
        return (atom,)
    other = difference(atom.term)
    return (atom,) if other is None else (atom, other)


def _pattern_within(atom: Atom, other: Atom) -> bool:
    """A prefix within a shorter one, a text with a prefix."""
    if other.op != "like" or atom.term != other.term or atom.constant is None or other.constant is None:
        return False
    wanted = prefix_of(other.constant.value)
    if wanted is None or atom.op not in ("eq", "like"):
        return False
    text = atom.constant.value if atom.op == "eq" else prefix_of(atom.constant.value)
    return text is not None and text.startswith(wanted)


def _defines(atom: Atom, other: Atom) -> bool:
    """Comparing a value takes one: x > 5 implies x IS NOT NULL, x - y > 5 does so too."""
    if other.op != "is_not_null" or atom.op == "is_null":
        return False
    if atom.op == "holds":
        return other.term in _strict_parts(atom.term)
    return atom.term == other.term or other.term in _strict_parts(atom.term)


@lru_cache(maxsize=1 << 12)
def _strict_parts(term: Expression) -> frozenset[Expression]:
    """What must have a value for the term to have one, or to be true."""
    if not isinstance(term, Call):
        return frozenset({term})
    strict = coefficients_of(term.name) is not None or term.name in _STRICT
    parts = (part for arg in term.args for part in _strict_parts(arg)) if strict else ()
    return frozenset({term, *parts})


_STRICT = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "cast",
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "date_add",
    "date_sub",
)
