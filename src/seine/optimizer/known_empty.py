"""Plans that can have no rows, whatever comes: their conditions contradict one another.

    SELECT ... FROM a, b WHERE a.x > 5 AND a.x = b.x AND b.x < 3
    SELECT ... FROM a WHERE s IS NULL AND s = 'u'

Law: a plan that is known to be empty gives no row over any streams and relations. Others may be empty, too.

Cites: ARGUS 4 (transitivity inference)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Call, Column, Expression, conjunction, conjuncts
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    PartnerLookup,
    Plan,
    Project,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Over, Rank
from seine.optimizer.block import Block, take_apart
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import fewest
from seine.optimizer.canonical.implies import clause_implies


def is_known_empty(plan: Plan) -> bool:
    """Whether the conditions of a plan, or of what it is made of, hold for no row."""
    block = take_apart(plan)
    if contradict(block.conditions):
        return True
    return any(_has_no_rows(item, block, number) for number, item in enumerate(block.items))


def _has_no_rows(item: Plan, block: Block, number: int) -> bool:
    """Whether what a block takes of an item is known to be empty; an aggregate without keys has a row."""
    match item:
        case UnionAll(branches):
            predicate = conjunction(list(block.among([number]).conditions))
            return all(
                is_known_empty(one if predicate is None else Select(one, predicate)) for one in branches
            )
        case SetOperation(left, right, kind):
            return is_known_empty(left) or (kind.needs_right and is_known_empty(right))
        case Aggregate(keys=()):
            return False
        case Aggregate() | Distinct() | Rank() | Over() | PartnerLookup() | Select() | Project():
            return is_known_empty(item.inputs[0])
    return False


def contradict(conditions: Sequence[Expression]) -> bool:
    """Whether no row satisfies all of these conditions.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> more, same = resolve_call("gt", [a, literal(5)]), resolve_call("eq", [a, b])
    >>> contradict([more, same, resolve_call("lt", [b, literal(3)])]), contradict([more, same])
    (True, False)
    """
    clauses = [
        clause for one in conditions for part in conjuncts(one) for clause in canonicalise(part).clauses
    ]
    if (NEVER,) in clauses:
        return True
    return any(_never_hold(conjoin([tuple(one)])) for one in _connected(clauses) if _may_contradict(one))


def _never_hold(clauses: PredicateSet) -> bool:
    """Whether conjoined clauses contradict; what is said of one term alone is united by conjoining."""
    if (NEVER,) in clauses:
        return True
    if len({atom.term for clause in clauses for atom in clause}) == 1 and all(len(c) == 1 for c in clauses):
        return False
    return fewest(clauses) is None or _asks_a_value_to_be_missing(clauses)


def _may_contradict(clauses: Sequence[Clause]) -> bool:
    """Whether there is more than equalities of columns, and a condition on the values of one: most queries
    that join have no more.
    """
    others = [clause for clause in clauses if not _is_key(clause)]
    return len(others) > 1 or any(
        atom.op == "is_null" or not isinstance(atom.term, Column) for clause in others for atom in clause
    )


def _asks_a_value_to_be_missing(clauses: PredicateSet) -> bool:
    """Whether a value must be NULL that another clause finds not NULL."""
    missing = [c[0] for c in clauses if len(c) == 1 and c[0].op == "is_null"]
    known = [Atom(atom.term, "is_not_null") for atom in missing]
    return any(clause_implies(clause, (atom,)) for atom in known for clause in clauses)


def _is_key(clause: Clause) -> bool:
    """Whether a clause is an equality of two columns."""
    term = clause[0].term
    if len(clause) > 1 or clause[0].op != "holds" or not isinstance(term, Call):
        return False
    return term.name == "eq" and all(isinstance(arg, Column) for arg in term.args)


def _connected(clauses: Sequence[Clause]) -> Iterator[list[Clause]]:
    """The clauses in sets that have no column in common: only what reads the same can contradict."""
    sets: dict[int, tuple[set[int], list[Clause]]] = {}  # by column
    for clause in dict.fromkeys(clauses):
        one: tuple[set[int], list[Clause]] = (
            {column for atom in clause for column in atom.term.columns},
            [clause],
        )
        for column in [*one[0]]:
            other = sets.get(column)
            if other is not None and other is not one:
                one, less = (one, other) if len(one[0]) > len(other[0]) else (other, one)
                one[0].update(less[0])
                one[1].extend(less[1])
                sets.update(dict.fromkeys(less[0], one))
        sets.update(dict.fromkeys(one[0], one))
    for _, (_, members) in {id(one): one for one in sets.values()}.items():
        yield members
