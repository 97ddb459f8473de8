"""Keys of atoms: ranges hold just what implies and what is implied, for values of every type."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pytest

from seine.algebra.expressions import Column, Literal
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DAY_TIME, DOUBLE, INT, STRING, TIMESTAMP, Type
from seine.catalog.index.ordered_keys import ANY, MOST_TEXT_BYTES, Range, implied, implying, ordered, point
from seine.optimizer.canonical import implies as canonical
from seine.optimizer.canonical.atoms import Atom
from tests.support.index_conditions import TERMS, atom_implies, every_atom


def _reached(ranges: list[Range], atom: Atom) -> bool:
    _, side, key = point(atom)
    return any(
        (one.side == side or (one.side == ANY and side != "null")) and one.holds(key) for one in ranges
    )


@pytest.mark.parametrize("term", TERMS[:3], ids=lambda term: str(term.type))
def test_ranges_hold_just_what_is_implied(term: Column) -> None:
    pairs = list(itertools.product(every_atom(term), repeat=2))
    answers = [(_reached(implied(a), b), _reached(implying(b), a), atom_implies(a, b)) for a, b in pairs]
    assert [one for one, answer in zip(pairs, answers, strict=True) if len(set(answer)) != 1] == []
    assert sum(answer[0] for answer in answers) > 150


@pytest.mark.parametrize("term", TERMS[:3], ids=lambda term: str(term.type))
def test_what_is_found_is_so_by_the_rules_of_canonical_conditions(term: Column) -> None:
    for a, b in itertools.product(every_atom(term), repeat=2):
        if _reached(implied(a), b):
            assert canonical.clause_implies((a,), (b,)), (a, b)


UTC = dt.UTC
ASCENDING: list[tuple[Type, list[Any]]] = [
    (BIGINT, [-(2**63), -256, -1, 0, 1, 255, 256, 2**63 - 1]),
    (INT, [-(2**31), -1, 0, 1, 2**31 - 1]),
    (DAY_TIME, [-5, 0, 5]),
    (BOOLEAN, [False, True]),
    (
        DOUBLE,
        [-float("inf"), -1e308, -1.5, -5e-324, 0.0, 5e-324, 0.1, 1.0, 1e300, float("inf"), float("nan")],
    ),
    (Type.parse("DECIMAL(38,0)"), [Decimal(-(10**38) + 1), Decimal(-1), Decimal(0), Decimal(10**38 - 1)]),
    (
        Type.parse("DECIMAL(5,2)"),
        [Decimal("-9.99"), Decimal("-0.01"), Decimal(0), Decimal("0.5"), Decimal("1E1")],
    ),
    (STRING, ["", "\0", "\0a", "a", "a\0", "a\0b", "aa", "ab", "b", "é", "\uffff", "\U0001f41f"]),
    (DATE, [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    (
        TIMESTAMP,
        [
            dt.datetime(1, 1, 1, tzinfo=UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            dt.datetime(1970, 1, 1, tzinfo=UTC),
            dt.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC),
        ],
    ),
]


@pytest.mark.parametrize(
    ("type_", "values"), ASCENDING, ids=lambda part: str(part) if isinstance(part, Type) else ""
)
def test_keys_are_in_the_order_of_values(type_: Type, values: list[Any]) -> None:
    keys = [ordered(Atom(Column(0, type_), "eq", Literal(value, type_))) for value in values]
    assert None not in keys
    assert keys == sorted(set(keys))
    for one, other in itertools.permutations(keys, 2):
        assert not one.startswith(other)


def test_equal_values_have_one_key() -> None:
    for type_, one, other in [
        (DOUBLE, 0.0, -0.0),
        (Type.parse("DECIMAL(5,2)"), Decimal("1.50"), Decimal("1.5")),
        (Type.parse("DECIMAL(5,2)"), Decimal("100"), Decimal("1E2")),
    ]:
        atoms = [Atom(Column(0, type_), "ge", Literal(value, type_)) for value in (one, other)]
        assert point(atoms[0]) == point(atoms[1])


def test_what_has_no_order_equals_only_itself() -> None:
    text, whole = Column(0, STRING), Column(0, BIGINT)
    long = "x" * (MOST_TEXT_BYTES + 1)
    odd = [
        Atom(text, "ge", Literal(long, STRING)),
        Atom(text, "ge", Literal(long + "y", STRING)),
        Atom(whole, "ge", Literal(1.5, DOUBLE)),
        Atom(text, "like", Literal("a%", STRING)),
        Atom(text, "not_like", Literal("a%", STRING)),
        Atom(text, "ge", Literal("a", STRING)),
    ]
    of_one_term = [(a, b) for a, b in itertools.permutations(odd, 2) if a.term == b.term]
    assert len(of_one_term) > 10
    assert [pair for pair in of_one_term if _reached(implied(pair[0]), pair[1])] == []
    for a in odd:
        assert _reached(implied(a), a) and _reached(implying(a), a)
        assert _reached(implied(a), Atom(a.term, "is_not_null"))
        assert _reached(implying(Atom(a.term, "is_not_null")), a)
        assert not _reached(implying(Atom(a.term, "is_null")), a)
