"""Canonical atoms of comparisons: a linear term on the left, a constant on the right."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions import common_type, resolve_cast
from seine.algebra.linear import coefficients_of, linear_name
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, TIMESTAMP, Kind, Type
from seine.optimizer.canonical.atoms import Atom, Clause
from seine.optimizer.canonical.exact_numbers import (
    MICROS_PER_DAY,
    CalendarStep,
    Number,
    bounds,
    calendar_step,
    is_exact,
    literal_of,
    number_of,
    quotient,
    step,
)
from seine.optimizer.canonical.linear_forms import Guard, LinearForm, linear_form
from seine.optimizer.canonical.simplify import rank

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_HOLDS_FOR_EQUALS = {"eq": True, "le": True, "ge": True, "ne": False, "lt": False, "gt": False}
_MAX_COEFFICIENT = 2**62  # a comparison with a larger coefficient is left as written
_EXACT_DOUBLE_LIMIT = 2.0**53

# clauses, each with whether it is a guard: implied by the predicate, but no part of its canonical clauses
Formula = list[tuple[Clause, bool]]
TRUE: Formula = []
FALSE: Formula = [((), False)]


def compare(op: str, left: Expression, right: Expression) -> Formula:
    """The formula of `left op right`; both are simplified and of one type, not BOOLEAN."""
    if isinstance(left, Literal):
        left, right, op = right, left, MIRRORED[op]
    if isinstance(right, Literal) and right.value is None:
        return FALSE
    if is_exact(left.type):
        return _compare_numbers(op, left, right)
    if not isinstance(right, Literal):
        return _compare_values(op, left, right)
    if left.type == DOUBLE:
        return _compare_double(op, left, right)
    if right.value == "":
        return _compare_least(op, left, right)
    return [((Atom(left, op, right),), False)]


def defined(*terms: Expression) -> Formula:
    """The formula that no term is NULL."""
    return [((Atom(term, "is_not_null"),), False) for term in terms]


def _compare_values(op: str, left: Expression, right: Expression) -> Formula:
    """A comparison of two values that are not constants: the one of lower rank becomes the left one."""
    if left == right:
        return defined(left) if _HOLDS_FOR_EQUALS[op] else FALSE
    if rank(right) < rank(left):
        left, right, op = right, left, MIRRORED[op]
    return [((Atom(Call(op, (left, right), BOOLEAN), "holds"),), False)]


def _compare_least(op: str, left: Expression, least: Literal) -> Formula:
    """A comparison with the least value of a type."""
    if op in ("ge", "lt"):
        return defined(left) if op == "ge" else FALSE
    return [((Atom(left, {"le": "eq", "gt": "ne"}.get(op, op), least),), False)]


def _compare_double(op: str, left: Expression, right: Literal) -> Formula:
    """A comparison of a DOUBLE with a constant; NaN is the greatest value, and the zeros are equal."""
    value = right.value
    inner = left.args[0] if isinstance(left, Call) and left.name == "cast" else None
    if inner is not None and (
        inner.type == INT or (inner.type == BIGINT and abs(value) < _EXACT_DOUBLE_LIMIT)
    ):
        form = linear_form(inner)
        if form is not None and math.isfinite(value):
            return _compare_form(op, form.plus(LinearForm({}, Fraction(value)), -1), left, right)
    if math.isnan(value):
        if op in ("le", "gt"):
            return defined(left) if op == "le" else FALSE
        op = {"ge": "eq", "lt": "ne"}.get(op, op)
    constant = Literal(0.0, DOUBLE) if value == 0 else right
    return [((Atom(left, op, constant),), False)]


def _compare_numbers(op: str, left: Expression, right: Expression) -> Formula:
    a, b = linear_form(left), linear_form(right)
    assert a is not None and b is not None  # exact types have forms
    return _compare_form(op, a.plus(b, -1), left, right)


def _compare_form(op: str, form: LinearForm, left: Expression, right: Expression) -> Formula:
    """The formula of `form op 0`, derived from `left op right`."""
    formula = [part for base, c in form.terms.items() if not c for part in defined(base)]
    used = sorted((base for base, c in form.terms.items() if c), key=rank)
    guards = [part for guard in form.guards for part in _guard(guard)]
    if not used:
        return [*formula, *guards] if _decided(op, form.constant) else FALSE
    main = _compare_terms(op, form, used)
    if main is None:  # beyond the range of a term: as written
        return (
            _compare_values(op, left, right)
            if not isinstance(right, Literal)
            else _as_written(op, left, right)
        )
    if guards:
        main = [(tuple(Atom(a.term, a.op, a.constant, exact=False) for a in clause), g) for clause, g in main]
    return [*formula, *main, *guards]


def compare_sum(op: str, terms: dict[Expression, Number], constant: Number) -> Formula | None:
    """The formula of `sum of coefficient * base op constant`; None if it is beyond the range of a term."""
    form = LinearForm(terms, -constant)
    used = sorted((base for base, c in terms.items() if c), key=rank)
    missing = [part for base, c in terms.items() if not c for part in defined(base)]
    if not used:
        return missing if _decided(op, form.constant) else FALSE
    main = _compare_terms(op, form, used)
    return None if main is None else [*missing, *main]


def _as_written(op: str, left: Expression, right: Expression) -> Formula:
    return [((Atom(Call(op, (left, right), BOOLEAN), "holds"),), False)]


def _decided(op: str, difference: Number) -> bool:
    return {
        "eq": difference == 0,
        "ne": difference != 0,
        "lt": difference < 0,
        "le": difference <= 0,
        "gt": difference > 0,
        "ge": difference >= 0,
    }[op]


def _guard(guard: Guard) -> Formula:
    """The formula that a node has a value: bounds of its only base, or that it is not NULL."""
    if len(guard.form.terms) == 1 and all(guard.form.terms.values()):
        least, most = bounds(guard.node.type)
        parts = [("ge", least), ("le", most)]
        ranges = [
            _compare_terms(op, guard.form.plus(LinearForm({}, end), -1), list(guard.form.terms))
            for op, end in parts
        ]
        if all(part is not None for part in ranges):
            clauses = [clause for part in ranges if part for clause, _ in part]
            return [(c, bool(c)) for c in clauses if not c or c[0].op != "is_not_null"]
    return [((Atom(guard.node, "is_not_null"),), True)]


def _compare_terms(op: str, form: LinearForm, used: list[Expression]) -> Formula | None:
    """The formula of `form op 0` over its bases; None if the constant is outside of the term's type."""
    coefficients = [form.terms[base] for base in used]
    scale = _scale(coefficients)
    if scale < 0:
        op = MIRRORED[op]
    if len(used) == 1:
        type_ = used[0].type
        formula = _bounded(used[0], op, -form.constant * scale, step(type_), bounds(type_), used)
        return _unfolded(used[0], formula)
    whole = tuple(int(c * scale) for c in coefficients)
    bound = -form.constant * scale
    if max(map(abs, whole)) >= _MAX_COEFFICIENT:
        return None
    if op in ("eq", "ne") and not bound and len(used) == 2:
        pair = _pair(op, form, used)
        if pair is not None:
            return pair
    span = LinearForm(dict(zip(used, whole, strict=True)), 0).span()
    term = Call(linear_name(whole), tuple(used), _term_type(used, span))
    return _bounded(term, op, bound, _unit(used, whole), span, used)


def _unfolded(base: Expression, formula: Formula | None) -> Formula | None:
    """Rewrite a bound of an absolute value, of the date of a timestamp or of a step of the calendar as bounds
    of the argument.
    """
    if not (formula and formula[0][0] and isinstance(base, Call)):
        return formula
    atom, number = formula[0][0][0], None
    if atom.op in ("ge", "le", "eq", "ne") and atom.constant is not None:
        number = number_of(atom.constant)
    if number is None or (atom.op == "ne" and base.name in ("abs", "cast")):
        return formula
    if base.name == "abs":
        return _absolute(atom.op, base.args[0], number)
    if base.name == "cast":
        return _date(atom.op, base, number) or formula
    step_ = calendar_step(base, int(number))
    return formula if step_ is None else _stepped(atom.op, step_)


def _date(op: str, cast: Call, day: Number) -> Formula | None:
    """The formula of the date of a timestamp compared with a day; None of any other cast."""
    inner = cast.args[0]
    if (inner.type, cast.type) != (TIMESTAMP, DATE):
        return None
    first, last = day * MICROS_PER_DAY, (day + 1) * MICROS_PER_DAY - 1
    ends = [("ge", first)] * (op != "le") + [("le", last)] * (op != "ge")
    return [part for op, end in ends for part in compare(op, inner, literal_of(end, TIMESTAMP))]


def _stepped(op: str, step_: CalendarStep) -> Formula:
    """The formula of a step function compared with a value: bounds of its argument."""
    x, least, greatest = step_
    if op == "ge" or op == "le":
        return _within_type(op, x, least if op == "ge" else greatest)
    if least > greatest:
        return FALSE if op == "eq" else defined(x)
    if op == "eq":
        return [*_within_type("ge", x, least), *_within_type("le", x, greatest)]
    return either([_within_type("le", x, least - 1), _within_type("ge", x, greatest + 1)])


def _within_type(op: str, x: Expression, end: Number) -> Formula:
    """The formula of a bound, which may be beyond all values of the type."""
    low, high = bounds(x.type)
    if end < low or end > high:
        return defined(x) if (op == "ge") == (end < low) else FALSE
    return compare(op, x, literal_of(end, x.type))


def _absolute(op: str, inner: Expression, number: Number) -> Formula:
    """The formula of `abs(inner) op number`; the least integer has no absolute value."""
    size = -number if number < 0 else number
    over, under = literal_of(size, inner.type), literal_of(-size, inner.type)
    if op == "le" and number >= 0:
        return [*compare("le", inner, over), *compare("ge", inner, under)]
    if op != "ge" and number < 0:
        return FALSE
    least = literal_of(bounds(inner.type)[0], inner.type)
    guard = compare("ne", inner, least) if inner.type.is_integer else TRUE
    if number <= 0 and op == "ge":
        return guard or defined(inner)
    parts = [("ge", over), ("le", under)] if op == "ge" else [("eq", over), ("eq", under)]
    main = either([compare(name, inner, end) for name, end in parts])
    return [*main, *((clause, True) for clause, _ in guard if op == "ge")]


def either(parts: list[Formula]) -> Formula:
    """The disjunction of formulas, in conjunctive normal form by distribution."""
    product: Formula = [((), False)]
    for part in parts:
        product = [(a + b, guard or guarded) for a, guard in product for b, guarded in part]
    return product


def _scale(coefficients: list[Number]) -> Number:
    """The factor that makes coefficients coprime integers, the first of them positive."""
    if len(coefficients) == 1:
        return quotient(1, coefficients[0])
    denominator = lcm(*(c.denominator for c in coefficients))
    divisor = gcd(*(int(c * denominator) for c in coefficients))
    return quotient(denominator if coefficients[0] > 0 else -denominator, divisor)


def _unit(used: list[Expression], coefficients: tuple[int, ...]) -> Number:
    """A number of which every value of the term is an integer multiple."""
    scale = max(base.type.scale for base in used)
    parts = (c * 10 ** (scale - base.type.scale) for base, c in zip(used, coefficients, strict=True))
    return quotient(gcd(*parts), 10**scale)


def _term_type(used: list[Expression], span: tuple[Number, Number]) -> Type:
    scale = max(base.type.scale for base in used)
    if all(base.type.kind is not Kind.DECIMAL for base in used):
        return BIGINT
    digits = len(str(int(max(-span[0], span[1]) * 10**scale)))
    return Type(Kind.DECIMAL, min(38, max(digits, scale, 1)), scale)


def _pair(op: str, form: LinearForm, used: list[Expression]) -> Formula | None:
    """An (in)equality of two bases as it is, so that a join can route by them; None if it is none."""
    types = {base.type for base in used}
    if len(types) > 1 and not (all(t.is_numeric for t in types) or all(t.is_temporal for t in types)):
        return None
    type_ = common_type([base.type for base in used])
    sides = [resolve_cast(base, type_) for base in used]
    forms = [linear_form(side) for side in sides]
    factors = [f.terms.get(base, 0) if f and not f.guards else 0 for f, base in zip(forms, used, strict=True)]
    if not all(factors) or form.terms[used[0]] * factors[1] != -form.terms[used[1]] * factors[0]:
        return None
    return [((Atom(Call(op, tuple(sides), BOOLEAN), "holds"),), False)]


def paired(atom: Atom) -> Atom:
    """Rewrite an atom x - y = 0 as x = y where that is the canonical form; other atoms stay."""
    coefficients = coefficients_of(atom.term.name) if isinstance(atom.term, Call) else None
    if coefficients is None or atom.op not in ("eq", "ne") or len(coefficients) != 2 or atom.constant is None:
        return atom
    if atom.constant.value or not isinstance(atom.term, Call):
        return atom
    used = list(atom.term.args)
    pair = _pair(atom.op, LinearForm(dict(zip(used, coefficients, strict=True)), 0), used)
    return pair[0][0][0] if pair else atom


@lru_cache(maxsize=1 << 12)
def difference(condition: Expression) -> Atom | None:
    """Rewrite x = y or x <> y of exact numbers as x - y = 0 or x - y <> 0; None for anything else."""
    if not (isinstance(condition, Call) and condition.name in ("eq", "ne")):
        return None
    left, right = (linear_form(arg) for arg in condition.args)
    if left is None or right is None:
        return None
    form = left.plus(right, -1)
    used = sorted((base for base, c in form.terms.items() if c), key=rank)
    if len(used) != 2 or form.constant:
        return None
    scale = _scale([form.terms[base] for base in used])
    whole = {base: int(form.terms[base] * scale) for base in used}
    type_ = _term_type(used, LinearForm(dict(whole), 0).span())
    term = Call(linear_name(tuple(whole.values())), tuple(used), type_)
    return Atom(term, condition.name, literal_of(0, type_))


def _bounded(
    term: Expression,
    op: str,
    bound: Number,
    unit: Number,
    span: tuple[Number, Number],
    bases: list[Expression],
) -> Formula | None:
    """The formula of `term op bound` by ge, le, eq or ne alone; decided at once where the span allows it."""
    op, units = _rounded(op, quotient(bound, unit))
    if units is None:
        return FALSE if op == "eq" else defined(*bases)
    number: Number = units * unit
    low, high = span
    if op == "ge":
        outcome = "all" if number <= low else "none" if number > high else "eq" if number == high else op
    elif op == "le":
        outcome = "all" if number >= high else "none" if number < low else "eq" if number == low else op
    else:
        inside = low <= number <= high
        outcome = op if inside else "none" if op == "eq" else "all"
        if op == "ne" and inside and number in (low, high):
            outcome, number = ("ge", number + unit) if number == low else ("le", number - unit)
    if outcome == "all":
        return defined(*bases)
    if outcome == "none":
        return FALSE
    least, most = bounds(term.type)
    if not (least <= low and high <= most) and not least < number < most:
        return None
    return [((Atom(term, outcome, literal_of(number, term.type)),), False)]


def _rounded(op: str, units: Number) -> tuple[str, int | None]:
    """A comparison of an integer: gt and lt become ge and le; None for (in)equality with a fraction."""
    if op in ("ge", "gt"):
        return "ge", ceil(units) if op == "ge" else floor(units) + 1
    if op in ("le", "lt"):
        return "le", floor(units) if op == "le" else ceil(units) - 1
    return op, int(units) if units.denominator == 1 else None
