"""When a condition is true, and when it is false, as a conjunction of disjunctions of atoms.

In three-valued logic the two are not opposites: a condition that is NULL is neither. Negation
exchanges them, so that it never remains above an atom.

Cites: ARGUS 5.1 (conjunctive normal form)
"""

from __future__ import annotations

from math import prod

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BOOLEAN, NULL, Kind
from seine.optimizer.canonical.atoms import Atom
from seine.optimizer.canonical.compare_terms import FALSE, MIRRORED, NEGATED, TRUE, Formula, compare, either
from seine.optimizer.canonical.exact_numbers import is_exact
from seine.optimizer.canonical.like_patterns import MAX_PATTERN_LENGTH, affix, like
from seine.optimizer.canonical.linear_forms import linear_form
from seine.optimizer.canonical.simplify import simplify

MAX_CLAUSES = 32  # a disjunction that would become more stays as it is written


def formula(e: Expression, positive: bool) -> Formula:
    """When `e` is true, or false if not `positive`; in three-valued logic the two are not opposites."""
    if isinstance(e, Literal):
        return TRUE if e.value is positive else FALSE
    if isinstance(e, Column):
        return [((Atom(e, "eq", Literal(positive, BOOLEAN)),), False)]
    assert isinstance(e, Call)
    if e.name == "not":
        return formula(e.args[0], not positive)
    if e.name in ("and", "or"):
        return _logic(e, [formula(arg, positive) for arg in e.args], positive)
    if e.name in NEGATED:
        return _comparison(e, positive)
    if e.name in ("is_null", "is_not_null"):
        return _null_test(e.args[0], positive == (e.name == "is_null"))
    if e.name == "in":
        choices = [formula(Call("eq", (e.args[0], value), BOOLEAN), positive) for value in e.args[1:]]
        return _logic(e, choices, positive, name="or")
    if e.name == "eq_null_safe":
        return _null_safe(e, positive)
    if e.name == "case":
        return _case(e, positive)
    if e.name == "coalesce":
        return _coalesce(e, positive)
    return _pattern(e, positive) or _written(e, positive)


def _written(e: Expression, positive: bool) -> Formula:
    """The text itself as one atom."""
    return [((Atom(e if positive else Call("not", (e,), BOOLEAN), "holds"),), False)]


def _logic(e: Call, parts: list[Formula], positive: bool, name: str = "") -> Formula:
    """A conjunction of the parts, or their disjunction, multiplied out while it stays small."""
    if ((name or e.name) == "and") == positive:
        return [clause for part in parts for clause in part]
    return _either(e, parts, positive)


def _either(e: Call, parts: list[Formula], positive: bool) -> Formula:
    """The disjunction of the parts, which is what `e` says; as it is written if it would grow."""
    return either(parts) if prod(map(len, parts)) <= MAX_CLAUSES else _written(e, positive)


def _comparison(e: Call, positive: bool) -> Formula:
    op = e.name if positive else NEGATED[e.name]
    left, right = e.args
    if left.type.kind is not Kind.BOOLEAN:
        return _with_default(op, left, right) or compare(op, left, right)
    if isinstance(left, Literal):
        left, right = right, left
    if isinstance(right, Literal) and op in ("eq", "ne"):
        return FALSE if right.value is None else formula(left, right.value == (op == "eq"))
    return _written(e, positive)


def _with_default(op: str, left: Expression, right: Expression) -> Formula | None:
    """`coalesce(x, default) op constant`: the default counts where x is NULL; None for anything else."""
    if isinstance(left, Literal):
        left, right, op = right, left, MIRRORED[op]
    if not (isinstance(left, Call) and left.name == "coalesce" and isinstance(right, Literal)):
        return None
    value, *defaults = left.args
    if len(defaults) != 1 or not isinstance(defaults[0], Literal):
        return None
    verdict = simplify(Call(op, (defaults[0], right), BOOLEAN))
    if not (isinstance(verdict, Literal) and verdict.value):
        return compare(op, value, right)
    return either([compare(op, value, right), _null_test(value, True)])


def _case(e: Call, positive: bool) -> Formula:
    """CASE WHEN c THEN v ELSE w: c and v, or w where c is not true."""
    if len(e.args) > 3:
        return _written(e, positive)
    condition, value, *otherwise = e.args
    other = formula(otherwise[0], positive) if otherwise else FALSE
    chosen = [*formula(condition, True), *formula(value, positive)]
    return _either(e, [chosen, [*_not_true(condition), *other]], positive)


def _coalesce(e: Call, positive: bool) -> Formula:
    """A condition, or a constant where it is NULL."""
    condition, *defaults = e.args
    if len(defaults) != 1 or not isinstance(defaults[0], Literal):
        return _written(e, positive)
    if defaults[0].value is not positive:
        return formula(condition, positive)
    return _either(e, [formula(condition, positive), _unknown(condition)], positive)


def _not_true(e: Expression) -> Formula:
    """False or NULL."""
    parts = [formula(e, False), _unknown(e)]
    known = Call("eq_null_safe", (e, Literal(True, BOOLEAN)), BOOLEAN)
    return _either(known, parts, False)


def _unknown(e: Expression) -> Formula:
    """When a condition is NULL: a comparison is where one of its operands is."""
    if isinstance(e, Literal):
        return TRUE if e.value is None else FALSE
    if isinstance(e, Call) and e.name == "not":
        return _unknown(e.args[0])
    if isinstance(e, Call) and e.name in ("is_null", "is_not_null"):
        return FALSE
    if isinstance(e, Call) and e.name in NEGATED and e.args[0].type.kind is not Kind.BOOLEAN:
        return either([_null_test(arg, True) for arg in e.args])
    return [((Atom(e, "is_null"),), False)]


def _null_test(term: Expression, null: bool) -> Formula:
    """Whether a term is NULL; arithmetic that cannot fail is just where one of its operands is."""
    if isinstance(term, Literal):
        return TRUE if (term.value is None) == null else FALSE
    form = linear_form(term) if is_exact(term.type) else None
    bases = list(form.terms) if form is not None and not form.guards else [term]
    atoms = [Atom(base, "is_null" if null else "is_not_null") for base in bases]
    return [(tuple(atoms), False)] if null else [((atom,), False) for atom in atoms]


def _null_safe(e: Call, positive: bool) -> Formula:
    """`x <=> constant`, of which a condition IS TRUE is one."""
    left, right = e.args
    if left.type == NULL or not isinstance(right, Literal):
        return _written(e, positive)
    if right.value is None:
        return _null_test(left, positive)
    if positive:
        return _comparison(Call("eq", (left, right), BOOLEAN), True)
    if left.type.kind is Kind.BOOLEAN and not isinstance(left, Column):
        return _written(e, positive)
    missing = _null_test(left, True)
    return _either(e, [_comparison(Call("ne", (left, right), BOOLEAN), True), missing], positive)


def _pattern(e: Call, positive: bool) -> Formula | None:
    """LIKE and its relatives with constant patterns; None for anything else."""
    subject, *constants = e.args if e.args else (e,)
    texts = [c.value for c in constants if isinstance(c, Literal) and c.type.is_text]
    if len(texts) != len(constants) or not texts or e.type != BOOLEAN:
        return None
    if e.name == "like":
        if None in texts:
            return FALSE
        escape = texts[1] if len(texts) == 2 else "\\"
        return like(subject, texts[0], escape, positive) if len(texts[0]) <= MAX_PATTERN_LENGTH else None
    return affix(e.name, subject, texts[0], positive) if len(texts) == 1 and texts[0] is not None else None
