"""Minimal predicate sets: conditions that follow from the others are dropped.

    id > 5 AND id > 3                             id > 5
    a.x > 5 AND b.x > a.x AND b.x > 5             a.x > 5 AND b.x > a.x
    x IN (1, 2, 3)                                x >= 1 AND x <= 3
    x = y AND y = z                               x = y AND x = z

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)

The values of columns that conditions fix, put into the sums of other conditions.

    id = 1 AND type = id + 1                  id = 1 AND type = 2
    id = 1 AND type - id > n                  id = 1 AND type - n > 1

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)

Equal columns told in one way: by the first of them, or by the constant that they all are.

    bank = branch AND branch = type           bank = branch AND bank = type
    bank = branch AND branch = 5              bank = 5 AND branch = 5
    bank = branch AND branch + id > 7         bank = branch AND bank + id > 7

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)

Parts of dates, MONTH and its like, as bounds of a date that is within one year, month or day.

    year(d) = 2024 AND month(d) = 5           d >= 2024-05-01 AND d <= 2024-05-31
    d = 2024-05-03 AND day(d) < 9             d = 2024-05-03

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.
Within its unit a part never falls as time goes on, so where it reaches a value is found by bisection.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import prod

from seine.algebra.expressions import Call, Column, Expression, shift_columns
from seine.algebra.linear import coefficients_of
from seine.algebra.types import BOOLEAN, DATE, DOUBLE, TIMESTAMP, Kind, Type
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet, atom_key, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.compare_terms import (
    FALSE,
    Formula,
    compare,
    compare_sum,
    difference,
    either,
    paired,
)
from seine.optimizer.canonical.exact_numbers import Number, bounds, is_exact, literal_of, number_of
from seine.optimizer.canonical.extents import clauses_of, extent
from seine.optimizer.canonical.implies import implies
from seine.optimizer.canonical.infer import infer

MOST_CLAUSES_COMPARED = 64  # with all others: what that costs grows with their square


@lru_cache(maxsize=1 << 12)
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
    closed = _closed(conditions, known)
    if (NEVER,) in closed:
        return None
    contradictory = follows((*closed, *known), ((NEVER,),))
    kept = [*closed]
    for clause in closed:
        rest = (*(other for other in kept if other is not clause), *known)
        if not contradictory:
            rest = _about_same(rest, clause)
        if (contradictory or _may_follow(rest, clause)) and follows(rest, (clause,)):
            kept.remove(clause)
    return tuple(kept)


def _about_same(conditions: PredicateSet, clause: Clause) -> PredicateSet:
    """The conditions that read columns of a clause, or columns of others that do: what says nothing of these
    has a part in contradictions alone.
    """
    columns = _columns(clause)
    if not columns:
        return conditions
    reading = [(other, _columns(other)) for other in conditions]
    while True:
        more = columns.union(*[theirs for _, theirs in reading if not columns.isdisjoint(theirs)])
        if len(more) == len(columns):
            return tuple([other for other, theirs in reading if not columns.isdisjoint(theirs)])
        columns = more


def _columns(clause: Clause) -> frozenset[int]:
    first = clause[0].term.columns
    return first if len(clause) == 1 else first.union(*[atom.term.columns for atom in clause[1:]])


def _may_follow(conditions: PredicateSet, clause: Clause) -> bool:
    """Whether conditions read all columns of an atom; what reads others follows from contradictions alone."""
    read = {column for other in conditions for column in _columns(other)}
    return any(read.issuperset(atom.term.columns) for atom in clause)


def _closed(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions and what follows, each told in one way."""
    stated = with_fixed_values(with_equals_stated(conditions, known), known)
    inferred = infer((*stated, *known))
    if inferred:
        stated = with_equals_stated(conjoin([stated, inferred]), known)
        stated = with_fixed_values(stated, known)
    by_term = _told_by_term(conjoin([stated]))
    by_date = with_calendar_parts(by_term, known)
    return by_term if by_date == by_term else _told_by_term(by_date)


def _told_by_term(clauses: PredicateSet) -> PredicateSet:
    """The conditions on the values of one term told in one way."""
    by_term: dict[Expression, list[Clause]] = {}
    rest: list[Clause] = []
    for clause in clauses:
        one = _about_one_term(clause)
        if one is None:
            rest.append(clause)
        else:
            by_term.setdefault(one[0].term, []).append(one)
    for term, given in by_term.items():
        one_form = clauses_of(term, given)
        if one_form is None:
            rest += given
        else:
            rest += [tuple(sorted(map(paired, atoms), key=atom_key)) for atoms in one_form] or [(NEVER,)]
    return conjoin([tuple(rest)])


def _about_one_term(clause: Clause) -> Clause | None:
    """The clause, x = y and x <> y as conditions on x - y, if its values are those of one term."""
    atoms = tuple(_as_difference(atom) for atom in clause)
    term = atoms[0].term
    if term.type.kind is Kind.BOOLEAN or any(a.term != term or extent(a) is None for a in atoms):
        return None
    return atoms


def _as_difference(atom: Atom) -> Atom:
    return (difference(atom.term) or atom) if atom.op == "holds" else atom


def follows(conditions: PredicateSet, weaker: PredicateSet) -> bool:
    """Whether clauses follow from conditions, also by inference."""
    return implies(conditions, weaker) or implies((*conditions, *infer(conditions)), weaker)


_MOST_PASSES = 8  # a value that is put in may fix another column


def with_fixed_values(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions with the values of fixed columns in sums in place of these."""
    for _ in range(_MOST_PASSES):
        fixed = _fixed((*conditions, *known))
        if not fixed:
            break
        before = conditions
        conditions = conjoin([tuple(_without_fixed(clause, fixed) for clause in before)])
        if conditions == before:
            break
    return conditions


def _fixed(conditions: PredicateSet) -> dict[Expression, Number]:
    """The values of the terms that have one only."""
    atoms = [clause[0] for clause in conditions if len(clause) == 1]
    return {
        atom.term: number_of(atom.constant)
        for atom in atoms
        if atom.op == "eq" and atom.constant is not None and is_exact(atom.constant.type)
    }


def _without_fixed(clause: Clause, fixed: Mapping[Expression, Number]) -> Clause:
    """A clause without fixed columns in its sums; as it is where that cannot be told."""
    alternatives: list[Atom] = []
    for atom in clause:
        parts = _without(atom, fixed)
        if parts is None:
            return clause
        alternatives += parts
    return tuple(sorted({*alternatives}, key=atom_key)) or (NEVER,)


def _without(atom: Atom, fixed: Mapping[Expression, Number]) -> Clause | None:
    """An atom with fixed terms of its sum on the other side, as alternatives."""
    term = atom.term
    coefficients = coefficients_of(term.name) if isinstance(term, Call) else None
    if coefficients is None or not isinstance(term, Call) or atom.constant is None:
        return (atom,)
    parts = [*zip(term.args, coefficients, strict=True)]
    rest: dict[Expression, Number] = {base: weight for base, weight in parts if base not in fixed}
    if len(rest) in (0, len(parts)):
        return (atom,)
    number = number_of(atom.constant) - sum(
        fixed[base] * coefficient for base, coefficient in parts if base in fixed
    )
    formula = compare_sum(atom.op, rest, number)
    if formula is None or len(formula) != 1:
        return None
    return tuple(Atom(a.term, a.op, a.constant, atom.exact) for a in formula[0][0])


def with_equals_stated(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions over the first of equal columns each, and plainly which columns are equal to it."""
    classes = _classes((*conditions, *known))
    if not classes:
        return conditions
    first = {column.index: members[0].index for members in classes for column in members}
    others = conjoin(_with_first(clause, first) for clause in conditions if equal_pair(clause) is None)
    known_first = {column: members[0] for members in _classes(known) for column in members}
    return conjoin([others, *(_stated(members, others, known_first) for members in classes)])


def equal_pair(clause: Clause) -> tuple[Column, Column] | None:
    """The two columns that a clause says are the same value; zeros of doubles are equal and not the same."""
    term = clause[0].term
    if len(clause) > 1 or clause[0].op != "holds" or not (isinstance(term, Call) and term.name == "eq"):
        return None
    left, right = term.args
    if not (isinstance(left, Column) and isinstance(right, Column)) or left.type != right.type:
        return None
    return None if left.type == DOUBLE else (left, right)


def _classes(conditions: PredicateSet) -> list[list[Column]]:
    """The columns that are equal to others, by class, in ascending order."""
    groups: dict[Column, set[Column]] = {}
    for pair in filter(None, map(equal_pair, conditions)):
        joined = set[Column]().union(*(groups.get(column, {column}) for column in pair))
        groups.update(dict.fromkeys(joined, joined))
    distinct = {id(group): group for group in groups.values()}.values()
    return [sorted(group, key=lambda column: column.index) for group in distinct]


def _stated(members: list[Column], others: PredicateSet, known_first: dict[Column, Column]) -> PredicateSet:
    """That columns are equal: each to the first, or to its constant; of those known to be equal one each."""
    first = members[0]
    rest = [column for column in members[1:] if known_first.get(column, column) == column]
    for clause in others:
        atom = clause[0]
        if len(clause) == 1 and atom.op == "eq" and atom.term == first:
            return tuple((Atom(column, "eq", atom.constant),) for column in rest)
    return tuple((Atom(Call("eq", (first, column), BOOLEAN), "holds"),) for column in rest)


def _with_first(clause: Clause, first: dict[int, int]) -> PredicateSet:
    """A clause with the first of equal columns in place of each."""
    if not any(first.get(index, index) != index for atom in clause for index in atom.term.columns):
        return (clause,)
    atoms = [_moved(atom, first) for atom in clause]
    parts = [part for part in atoms if part is not None]
    if len(parts) < len(atoms):
        return (clause,)  # beyond the range of a sum: as it is
    alternatives = {alternative for part in parts for alternative in part}
    return conjoin([(tuple(sorted(alternatives, key=atom_key)),)])


def _moved(atom: Atom, first: dict[int, int]) -> Clause | None:
    """An atom over the first of equal columns, as alternatives; None if it cannot be told so."""
    term = shift_columns(atom.term, lambda index: first.get(index, index))
    coefficients = coefficients_of(term.name) if isinstance(term, Call) else None
    if coefficients is None or not isinstance(term, Call) or atom.constant is None:
        return _as_canonical(Atom(term, atom.op, atom.constant, atom.exact))
    formula = compare_sum(
        atom.op, _summed(zip(term.args, coefficients, strict=True)), number_of(atom.constant)
    )
    if formula is None or len(formula) != 1:
        return None
    return tuple(Atom(a.term, a.op, a.constant, atom.exact) for a in formula[0][0])


def _as_canonical(atom: Atom) -> Clause | None:
    form = canonicalise(clause_expression((atom,)))
    return form.clauses[0] if len(form.clauses) == 1 and form.exact else None


def _summed(parts: Iterable[tuple[Expression, int]]) -> dict[Expression, Number]:
    sums: dict[Expression, Number] = {}
    for base, coefficient in parts:
        sums[base] = sums.get(base, 0) + coefficient
    return sums


_PART: Mapping[str, tuple[int, Callable[[dt.datetime], int]]] = {  # how much of a moment its unit fixes
    "month": (1, lambda moment: moment.month),
    "quarter": (1, lambda moment: (moment.month + 2) // 3),
    "dayofyear": (1, lambda moment: moment.timetuple().tm_yday),
    "day": (2, lambda moment: moment.day),
    "hour": (3, lambda moment: moment.hour),
    "minute": (4, lambda moment: moment.minute),
}
_MOST_CALENDAR_PASSES = 4  # a part that becomes bounds may put the date into a smaller unit
_MOST_CLAUSES = 8  # that one clause may become


def with_calendar_parts(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions with parts of dates as bounds, where the year, month or day of these is fixed."""
    for _ in range(_MOST_CALENDAR_PASSES):
        if not any(_dated(atom.term) for clause in conditions for atom in clause):
            break
        spans, before = _spans((*conditions, *known)), conditions
        conditions = conjoin([tuple(new for clause in before for new in _bounded(clause, spans))])
        if conditions == before:
            break
    return conditions


def _dated(term: Expression) -> Expression | None:
    """The date or timestamp of which a term is a part."""
    match term:
        case Call(name, (Call("cast", (Expression(type=Type(Kind.TIMESTAMP)) as moment,), Type(Kind.DATE)),)):
            return moment if name in _PART else None
        case Call(name, (Expression(type=Type(Kind.DATE | Kind.TIMESTAMP)) as moment,)):
            return moment if name in _PART else None
    return None


def _spans(conditions: PredicateSet) -> dict[Expression, range]:
    """The days, or instants, of which dates are that conditions bound."""
    spans: dict[Expression, range] = {}
    for clause in conditions:
        atom = clause[0]
        if len(clause) == 1 and atom.constant is not None and atom.term.type in (DATE, TIMESTAMP):
            least, most = map(int, bounds(atom.term.type))
            days, number = spans.get(atom.term, range(least, most + 1)), int(number_of(atom.constant))
            low = max(days.start, number) if atom.op in ("ge", "eq") else days.start
            high = min(days.stop, number + 1) if atom.op in ("le", "eq") else days.stop
            spans[atom.term] = range(low, high)
    return spans


def _bounded(clause: Clause, spans: Mapping[Expression, range]) -> PredicateSet:
    """A clause with bounds of dates in place of their parts, as clauses; as it is where it cannot be told."""
    parts = [_formula(atom, spans) for atom in clause]
    if all(part == _written(atom) for part, atom in zip(parts, clause, strict=True)):
        return (clause,)
    if prod(map(len, parts)) > _MOST_CLAUSES:
        return (clause,)
    return tuple(alternatives for alternatives, _ in either(parts))


def _written(atom: Atom) -> Formula:
    return [((atom,), False)]


def _formula(atom: Atom, spans: Mapping[Expression, range]) -> Formula:
    """An atom, or the bounds of the date of which it compares a part."""
    date, written = _dated(atom.term), _written(atom)
    if date is None or date not in spans or not isinstance(atom.term, Call) or atom.constant is None:
        return written
    days, (fixed, part) = spans[date], _PART[atom.term.name]
    if atom.op not in ("ge", "le", "eq", "ne") or not _is_in_one_unit(date, days, fixed):
        return written
    value = atom.constant.value
    reached = [bisect_left(days, n, key=lambda day: part(_moment(day, date))) for n in (value, value + 1)]
    least, beyond = reached
    if atom.op in ("ge", "le"):
        return _within(date, days[least:] if atom.op == "ge" else days[:beyond])
    if atom.op == "eq":
        return _within(date, days[least:beyond])
    return either([_within(date, days[:least]), _within(date, days[beyond:])])


def _is_in_one_unit(date: Expression, days: range, fixed: int) -> bool:
    """Whether the first parts of dates, so many of them, are the same."""
    ends = [_moment(day, date).timetuple()[:fixed] for day in (*days[:1], *days[-1:])]
    return bool(ends) and ends[0] == ends[1]


def _within(date: Expression, days: range) -> Formula:
    """The formula that a date is one of some that follow one another."""
    if not days:
        return FALSE
    ends = (("ge", days[0]), ("le", days[-1]))
    return [part for op, end in ends for part in compare(op, date, literal_of(end, date.type))]


def _moment(number: int, date: Expression) -> dt.datetime:
    value = literal_of(number, date.type).value
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
