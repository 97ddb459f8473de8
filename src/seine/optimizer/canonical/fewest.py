"""Minimal predicate sets: conditions that follow from the others are dropped.

    id > 5 AND id > 3                             id > 5
    a.x > 5 AND b.x > a.x AND b.x > 5             a.x > 5 AND b.x > a.x

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

from seine.optimizer.canonical.atoms import NEVER, PredicateSet
from seine.optimizer.canonical.canonicalise import conjoin
from seine.optimizer.canonical.implies import implies
from seine.optimizer.canonical.infer import infer

MOST_CLAUSES_COMPARED = 64  # with all others: what that costs grows with their square


def fewest(conditions: PredicateSet, known: PredicateSet = ()) -> PredicateSet | None:
    """The fewest clauses with the same meaning where others are known to hold; None for a contradiction.

    Of very many clauses only those go that others of the same terms absorb.

    What follows is added before it is seen what can go, so that sets that differ in what they leave to
    inference become equal.

    >>> from seine.algebra.expressions import Column, Literal
    >>> from seine.algebra.types import INT
    >>> from seine.optimizer.canonical.atoms import Atom
    >>> over = lambda n: (Atom(Column(0, INT), "ge", Literal(n, INT)),)
    >>> fewest((over(5), over(7))) == (over(7),), fewest((over(5),), (over(9),))
    (True, ())
    """
    if len(conditions) + len(known) > MOST_CLAUSES_COMPARED:
        few = conjoin([conditions])
        return None if (NEVER,) in few else few
    closed = conjoin([conditions, infer((*conditions, *known))])
    if (NEVER,) in closed:
        return None
    kept = [*closed]
    for clause in closed:
        rest = (*(other for other in kept if other is not clause), *known)
        if follows(rest, (clause,)):
            kept.remove(clause)
    return tuple(kept)


def follows(conditions: PredicateSet, weaker: PredicateSet) -> bool:
    """Whether clauses follow from conditions, also by inference."""
    return implies(conditions, weaker) or implies((*conditions, *infer(conditions)), weaker)
