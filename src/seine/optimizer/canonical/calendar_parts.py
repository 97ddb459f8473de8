"""Parts of dates, MONTH and its like, as bounds of a date that is within one year, month or day.

    year(d) = 2024 AND month(d) = 5           d >= 2024-05-01 AND d <= 2024-05-31
    d = 2024-05-03 AND day(d) < 9             d = 2024-05-03

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.
Within its unit a part never falls as time goes on, so where it reaches a value is found by bisection.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Mapping
from math import prod

from seine.algebra.expressions import Call, Expression
from seine.algebra.types import DATE, TIMESTAMP, Kind, Type
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet
from seine.optimizer.canonical.canonicalise import conjoin
from seine.optimizer.canonical.compare_terms import FALSE, Formula, compare, either
from seine.optimizer.canonical.exact_numbers import bounds, literal_of, number_of

_PART: Mapping[str, tuple[int, Callable[[dt.datetime], int]]] = {  # how much of a moment its unit fixes
    "month": (1, lambda moment: moment.month),
    "quarter": (1, lambda moment: (moment.month + 2) // 3),
    "dayofyear": (1, lambda moment: moment.timetuple().tm_yday),
    "day": (2, lambda moment: moment.day),
    "hour": (3, lambda moment: moment.hour),
    "minute": (4, lambda moment: moment.minute),
}
_MOST_PASSES = 4  # a part that becomes bounds may put the date into a smaller unit
_MOST_CLAUSES = 8  # that one clause may become


def with_calendar_parts(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions with parts of dates as bounds, where the year, month or day of these is fixed."""
    for _ in range(_MOST_PASSES):
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
