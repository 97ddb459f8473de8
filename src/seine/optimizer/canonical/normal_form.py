"""Conjunctive normal form in three-valued logic: when a predicate is true, and when it is false.

The two are not complements: a predicate that is NULL is neither. Negation exchanges them, so that it
is pushed down to the atoms.

Cites: ARGUS 5.1 (conjunctive normal form)
"""

from __future__ import annotations

from itertools import groupby
from math import prod

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.java_patterns import scan_like
from seine.algebra.types import BOOLEAN, NULL, STRING, Kind
from seine.optimizer.canonical.atoms import Atom
from seine.optimizer.canonical.compare_terms import (
    FALSE,
    MIRRORED,
    NEGATED,
    TRUE,
    Formula,
    compare,
    defined,
    either,
)
from seine.optimizer.canonical.exact_numbers import is_exact
from seine.optimizer.canonical.linear_forms import linear_form
from seine.optimizer.canonical.simplify import simplify

MAX_CLAUSES = 32  # a disjunction that distribution would turn into more is left as written


def formula(predicate: Expression, positive: bool) -> Formula:
    """The formula of when a predicate is true or, if not `positive`, false."""
    if isinstance(predicate, Literal):
        return TRUE if predicate.value is positive else FALSE
    if isinstance(predicate, Column):
        return [((Atom(predicate, "eq", Literal(positive, BOOLEAN)),), False)]
    assert isinstance(predicate, Call)
    if predicate.name == "not":
        return formula(predicate.args[0], not positive)
    if predicate.name in ("and", "or"):
        return _logic(predicate, [formula(arg, positive) for arg in predicate.args], positive)
    if predicate.name in NEGATED:
        return _comparison(predicate, positive)
    if predicate.name in ("is_null", "is_not_null"):
        return _null_test(predicate.args[0], positive == (predicate.name == "is_null"))
    if predicate.name == "in":
        choices = [
            formula(Call("eq", (predicate.args[0], value), BOOLEAN), positive) for value in predicate.args[1:]
        ]
        return _logic(predicate, choices, positive, name="or")
    if predicate.name == "eq_null_safe":
        return _null_safe(predicate, positive)
    if predicate.name == "case":
        return _case(predicate, positive)
    if predicate.name == "coalesce":
        return _coalesce(predicate, positive)
    return _pattern(predicate, positive) or _written(predicate, positive)


def _written(predicate: Expression, positive: bool) -> Formula:
    """The predicate as written, as one atom."""
    return [((Atom(predicate if positive else Call("not", (predicate,), BOOLEAN), "holds"),), False)]


def _logic(predicate: Call, parts: list[Formula], positive: bool, name: str = "") -> Formula:
    """The conjunction of the parts or, if negated or OR, their disjunction."""
    if ((name or predicate.name) == "and") == positive:
        return [clause for part in parts for clause in part]
    return _either(predicate, parts, positive)


def _either(predicate: Call, parts: list[Formula], positive: bool) -> Formula:
    """The disjunction of the parts, to which the predicate is equivalent; as written if it would grow."""
    return either(parts) if prod(map(len, parts)) <= MAX_CLAUSES else _written(predicate, positive)


def _comparison(predicate: Call, positive: bool) -> Formula:
    op = predicate.name if positive else NEGATED[predicate.name]
    left, right = predicate.args
    if left.type.kind is not Kind.BOOLEAN:
        return _with_default(op, left, right) or compare(op, left, right)
    if isinstance(left, Literal):
        left, right = right, left
    if isinstance(right, Literal) and op in ("eq", "ne"):
        return FALSE if right.value is None else formula(left, right.value == (op == "eq"))
    return _written(predicate, positive)


def _with_default(op: str, left: Expression, right: Expression) -> Formula | None:
    """The formula of `coalesce(x, default) op constant`; None for anything else."""
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


def _case(predicate: Call, positive: bool) -> Formula:
    """The formula of CASE WHEN c THEN v ELSE w: c and v, or w where c is not true."""
    if len(predicate.args) > 3:
        return _written(predicate, positive)
    condition, value, *otherwise = predicate.args
    other = formula(otherwise[0], positive) if otherwise else FALSE
    chosen = [*formula(condition, True), *formula(value, positive)]
    return _either(predicate, [chosen, [*_not_true(condition), *other]], positive)


def _coalesce(predicate: Call, positive: bool) -> Formula:
    """The formula of COALESCE(condition, constant)."""
    condition, *defaults = predicate.args
    if len(defaults) != 1 or not isinstance(defaults[0], Literal):
        return _written(predicate, positive)
    if defaults[0].value is not positive:
        return formula(condition, positive)
    return _either(predicate, [formula(condition, positive), _unknown(condition)], positive)


def _not_true(predicate: Expression) -> Formula:
    """The formula of when a predicate is false or NULL."""
    parts = [formula(predicate, False), _unknown(predicate)]
    known = Call("eq_null_safe", (predicate, Literal(True, BOOLEAN)), BOOLEAN)
    return _either(known, parts, False)


def _unknown(predicate: Expression) -> Formula:
    """The formula of when a predicate is NULL; a comparison is where one of its operands is."""
    if isinstance(predicate, Literal):
        return TRUE if predicate.value is None else FALSE
    if isinstance(predicate, Call) and predicate.name == "not":
        return _unknown(predicate.args[0])
    if isinstance(predicate, Call) and predicate.name in ("is_null", "is_not_null"):
        return FALSE
    if (
        isinstance(predicate, Call)
        and predicate.name in NEGATED
        and predicate.args[0].type.kind is not Kind.BOOLEAN
    ):
        return either([_null_test(arg, True) for arg in predicate.args])
    return [((Atom(predicate, "is_null"),), False)]


def _null_test(term: Expression, null: bool) -> Formula:
    """The formula of IS [NOT] NULL; arithmetic that cannot fail is NULL just where an operand is."""
    if isinstance(term, Literal):
        return TRUE if (term.value is None) == null else FALSE
    form = linear_form(term) if is_exact(term.type) else None
    bases = list(form.terms) if form is not None and not form.guards else [term]
    atoms = [Atom(base, "is_null" if null else "is_not_null") for base in bases]
    return [(tuple(atoms), False)] if null else [((atom,), False) for atom in atoms]


def _null_safe(predicate: Call, positive: bool) -> Formula:
    """The formula of `x <=> constant`; IS TRUE and IS FALSE are such."""
    left, right = predicate.args
    if left.type == NULL or not isinstance(right, Literal):
        return _written(predicate, positive)
    if right.value is None:
        return _null_test(left, positive)
    if positive:
        return _comparison(Call("eq", (left, right), BOOLEAN), True)
    if left.type.kind is Kind.BOOLEAN and not isinstance(left, Column):
        return _written(predicate, positive)
    missing = _null_test(left, True)
    return _either(predicate, [_comparison(Call("ne", (left, right), BOOLEAN), True), missing], positive)


def _pattern(predicate: Call, positive: bool) -> Formula | None:
    """The formula of LIKE and its relatives with constant patterns; None for anything else."""
    subject, *constants = predicate.args if predicate.args else (predicate,)
    texts = [c.value for c in constants if isinstance(c, Literal) and c.type.is_text]
    if len(texts) != len(constants) or not texts or predicate.type != BOOLEAN:
        return None
    if predicate.name == "like":
        if None in texts:
            return FALSE
        escape = texts[1] if len(texts) == 2 else "\\"
        return like(subject, texts[0], escape, positive) if len(texts[0]) <= MAX_PATTERN_LENGTH else None
    return (
        affix(predicate.name, subject, texts[0], positive)
        if len(texts) == 1 and texts[0] is not None
        else None
    )


MAX_PATTERN_LENGTH = 1000  # characters; longer patterns stay as written
_FUNCTIONS = {"startswith": ("", "%"), "endswith": ("%", ""), "contains": ("%", "%")}


def like(subject: Expression, pattern: str, escape: str, positive: bool) -> Formula:
    """The formula of `subject LIKE pattern`, or of NOT LIKE."""
    pieces = _pieces(pattern, escape)
    if pieces is None:
        return FALSE
    if all(literal for literal, _ in pieces):
        text = Literal("".join(text for _, text in pieces), STRING)
        return compare("eq" if positive else "ne", subject, text)
    if [text for _, text in pieces] == ["%"]:
        return defined(subject) if positive else FALSE
    written = Literal("".join(quoted(text) if literal else text for literal, text in pieces), STRING)
    return [((Atom(subject, "like" if positive else "not_like", written),), False)]


def affix(name: str, subject: Expression, text: str, positive: bool) -> Formula | None:
    """The formula of STARTSWITH, ENDSWITH and CONTAINS, as patterns; None for other functions."""
    if name not in _FUNCTIONS or len(text) > MAX_PATTERN_LENGTH:
        return None
    before, after = _FUNCTIONS[name]
    return like(subject, f"{before}{quoted(text)}{after}", "\\", positive)


def prefix_of(pattern: str) -> str | None:
    r"""The prefix of a canonical pattern of the form `prefix%`; None for other patterns.

    >>> prefix_of("ab\\_%"), prefix_of("a%b")
    ('ab_', None)
    """
    pieces = _pieces(pattern, "\\")
    if pieces is None or len(pieces) != 2 or pieces[1] != (False, "%") or not pieces[0][0]:
        return None
    return pieces[0][1]


def quoted(text: str) -> str:
    """A text as a pattern that matches it, wildcards escaped."""
    return "".join(f"\\{letter}" if letter in "%_\\" else letter for letter in text)


def _pieces(pattern: str, escape: str) -> list[tuple[bool, str]] | None:
    """Literal texts (True) and runs of wildcards (False), underscores before one %; None if invalid."""
    letters = scan_like(pattern, escape)
    if letters is None:
        return None
    pieces = []
    for literal, run in groupby(letters, key=lambda letter: letter.literal):
        text = "".join(letter.text for letter in run)
        pieces.append((literal, text if literal else "_" * text.count("_") + "%" * ("%" in text)))
    return pieces
