"""Implication (subsumption) between atoms, clauses and predicate sets.

Sound, and complete for comparisons of one term with constants; beyond that, only equal atoms and
narrower LIKE patterns are recognised.

Cites: ARGUS 5.1.3 (subsumption of literals, OR predicates and predicate sets)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from seine.algebra.expressions import Call, Expression
from seine.algebra.linear import coefficients_of
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet
from seine.optimizer.canonical.compare_terms import difference
from seine.optimizer.canonical.extents import EVERYTHING, Extent, contains, extent, intersection, union
from seine.optimizer.canonical.normal_form import prefix_of


def implies(stronger: PredicateSet, weaker: PredicateSet) -> bool:
    """Whether every row that satisfies the stronger predicate set satisfies the weaker one.

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


def clause_implies(a: Clause, b: Clause) -> bool:
    """Whether clause `a` implies clause `b`."""
    return _may_imply(a, b) and _clause_implies(a, b)


def _may_imply(a: Clause, b: Clause) -> bool:
    """Whether one clause can imply another; mostly they compare different terms, which is seen at once."""
    if len(a) != 1 or len(b) != 1:
        return True
    one, other = a[0], b[0]
    speak_of_parts = other.op == "is_not_null" or one.op == "holds" or other.op == "holds"
    return speak_of_parts or one.term == other.term


@lru_cache(maxsize=1 << 15)
def _clause_implies(a: Clause, b: Clause) -> bool:
    return _within(a, b, {})


def _within(clause: Clause, goal: Clause, domains: dict[Expression, Extent]) -> bool:
    parts: dict[Expression, list[Extent]] = {}
    for atom in goal:
        for view in _views(atom):
            values = extent(view)
            if values is not None:
                parts.setdefault(view.term, []).append(values)
    covered = {term: union(extents) if len(extents) > 1 else extents[0] for term, extents in parts.items()}
    return all(_atom_within(atom, goal, covered, domains) for atom in clause)


def _atom_within(
    atom: Atom, goal: Clause, covered: dict[Expression, Extent], domains: dict[Expression, Extent]
) -> bool:
    """Whether an atom, within the domain of its term, implies a clause that covers these values."""
    if atom == NEVER:
        return True
    for view in _views(atom):
        cover, domain = covered.get(view.term), domains.get(view.term) if domains else None
        values = extent(view) if cover or domain else None
        if values is not None:
            possible = values if domain is None else intersection(values, domain)
            if contains(cover or [], possible):
                return True
    return any(atom == other or _pattern_within(atom, other) or _defines(atom, other) for other in goal)


def _domains(conditions: PredicateSet) -> dict[Expression, Extent]:
    """The possible values of each term by the one-atom clauses."""
    domains: dict[Expression, Extent] = {}
    for clause in conditions:
        for view in _views(clause[0]) if len(clause) == 1 else ():
            values = extent(view)
            if values is not None:
                domains[view.term] = intersection(domains.get(view.term, EVERYTHING), values)
    return domains


def _views(atom: Atom) -> Iterable[Atom]:
    """The atom and, if it compares two exact numbers, the comparison of their difference with zero."""
    if atom.op != "holds":
        return (atom,)
    other = difference(atom.term)
    return (atom,) if other is None else (atom, other)


def _pattern_within(atom: Atom, other: Atom) -> bool:
    """Whether an equality or a prefix pattern implies a prefix pattern."""
    if other.op != "like" or atom.term != other.term or atom.constant is None or other.constant is None:
        return False
    wanted = prefix_of(other.constant.value)
    if wanted is None or atom.op not in ("eq", "like"):
        return False
    text = atom.constant.value if atom.op == "eq" else prefix_of(atom.constant.value)
    return text is not None and text.startswith(wanted)


def _defines(atom: Atom, other: Atom) -> bool:
    """Whether an atom implies IS NOT NULL: x > 5 and x - y > 5 both imply x IS NOT NULL."""
    if other.op != "is_not_null" or atom.op == "is_null":
        return False
    if atom.op == "holds":
        return other.term in _strict_parts(atom.term)
    return atom.term == other.term or other.term in _strict_parts(atom.term)


@lru_cache(maxsize=1 << 12)
def _strict_parts(term: Expression) -> frozenset[Expression]:
    """The subterms that are not NULL wherever the term is not NULL."""
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
