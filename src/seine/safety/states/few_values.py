"""Values that are few whatever comes: of BOOLEANs and remainders, what conditions list, functions of these.

    GROUP BY amount > 100           TRUE, FALSE and NULL
    GROUP BY id % 3                 -2 to 2, and NULL
    WHERE type IN (1, 2, 5)         three of `type`

So groups by them do not grow without end, though nothing frees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import Kind
from seine.optimizer.canonical.atoms import Clause
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.canonical.exact_numbers import is_exact
from seine.optimizer.canonical.extents import EVERYTHING, Extent, extent, intersection, union

MOST_VALUES = 1000  # that are few: of a range of whole numbers, or of a remainder
_WHOLE = (Kind.INT, Kind.BIGINT)


def has_few_values(expression: Expression, is_few: Callable[[Column], bool]) -> bool:
    """Whether an expression can have few values only, if these of its columns do.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> x, three = Column(0, BIGINT), Literal(3, BIGINT)
    >>> more, rest = Call("gt", (x, three), BOOLEAN), Call("mod", (x, three), BIGINT)
    >>> [has_few_values(one, lambda column: False) for one in (x, more, rest, Call("add", (x, rest), BIGINT))]
    [False, True, True, False]
    """
    if isinstance(expression, Literal) or expression.type.kind is Kind.BOOLEAN:
        return True
    if isinstance(expression, Column):
        return is_few(expression)
    if not isinstance(expression, Call) or not expression.args:
        return False
    return _is_small_remainder(expression) or all(has_few_values(part, is_few) for part in expression.args)


def _is_small_remainder(call: Call) -> bool:
    if call.name not in ("mod", "pmod") or call.type.kind not in _WHOLE:
        return False
    divisor = call.args[1]
    return isinstance(divisor, Literal) and divisor.value is not None and abs(divisor.value) <= MOST_VALUES


def listed_columns(conditions: Iterable[Expression]) -> set[Column]:
    """The columns of which few values satisfy the conditions."""
    extents: dict[Column, Extent] = {}
    for condition in conditions:
        for clause in canonicalise(condition).clauses:
            term = clause[0].term
            values = _values(clause)
            if isinstance(term, Column) and values is not None:
                extents[term] = intersection(extents.get(term, EVERYTHING), values)
    return {column for column, values in extents.items() if _are_few(column, values)}


def _values(clause: Clause) -> Extent | None:
    """The values of its one term for which a clause holds; None if it is of several, or not of order."""
    extents = [extent(atom) for atom in clause if atom.term == clause[0].term]
    known = [one for one in extents if one is not None]
    return union(known) if len(known) == len(clause) else None


def _are_few(column: Column, values: Extent) -> bool:
    counted = 0
    for start, stop in values:
        if len(start) == len(stop) == 1 and start < stop < (1,):  # NULL alone
            counted += 1
        elif len(start) == 3 and len(stop) == 3 and is_exact(column.type):
            counted += stop[1] - start[1]
        elif len(start) == 3 and len(stop) == 3 and start[1] == stop[1]:
            counted += 1
        else:
            return False
    return counted <= MOST_VALUES
