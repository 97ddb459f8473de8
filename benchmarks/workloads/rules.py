"""Generated join queries: one template with a row of constants (a rule) for each query, or many templates.

Queries of one template can also be run by a hand-written job with a table of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

_COUNTRIES = ("KY", "PA", "VG", "CY", "CH", "SG")
_TEMPLATE = (
    "CREATE QUERY rule_{number} AS SELECT a.tran_id AS first, b.tran_id AS second "
    "FROM transfer a, transfer b WHERE b.sacct = a.racct AND a.amount > {came} AND b.amount > {went} "
    "AND b.amount > a.amount * {ratio} AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '{hours}' HOUR;\n"
)
_KEYS = (("racct", "sacct"), ("sacct", "sacct"), ("racct", "racct"))
_EXTRAS = (
    "a.type_code = '{type}'",
    "b.rcountry = '{country}'",
    "b.amount <= a.amount * {more}",
    "a.function_code <> '{function}'",
    "b.sbank <> b.rbank + {banks}",
)


class QueryRule(NamedTuple):
    """The constants of a query: what came, what went, the share that went, and within how many hours."""

    number: int
    came: int
    went: int
    ratio: float
    hours: int


def rules(count: int, seed: int = 7) -> list[QueryRule]:
    """So many random rules; the same for the same arguments."""
    random = Random(seed)
    return [
        QueryRule(
            number,
            random.randrange(2_000_000, 12_000_000, 1_000),
            random.randrange(1_000_000, 6_000_000, 1_000),
            round(random.uniform(0.5, 0.95), 3),
            random.randrange(12, 120),
        )
        for number in range(count)
    ]


def one_template(given: Sequence[QueryRule]) -> str:
    """The script of these rules, all of one template."""
    return "".join(_TEMPLATE.format(**rule._asdict()) for rule in given)


def templates(count: int = 50) -> list[str]:
    """So many different templates: pairs of keys, and sets of extra conditions."""
    made = []
    for number in range(count):
        pair, extras = number % len(_KEYS), number // len(_KEYS)
        text = _TEMPLATE.replace("b.sacct = a.racct", "b.{1} = a.{0}".format(*_KEYS[pair]))
        more = [extra for bit, extra in enumerate(_EXTRAS) if extras >> bit & 1]
        made.append(text.replace(";\n", "".join(f" AND {extra}" for extra in more) + ";\n"))
    return made


def mixed_templates(given: Sequence[QueryRule], count: int = 50, seed: int = 7) -> str:
    """The script of these rules, which use the templates in turn."""
    random, made = Random(seed), templates(count)
    return "".join(
        made[rule.number % count].format(
            type=random.choice(("1000", "1600")),
            country=random.choice(_COUNTRIES),
            more=round(random.uniform(1, 1.5), 2),
            function=random.choice(("CTR", "CTP", "BTR")),
            banks=random.randrange(5),
            **rule._asdict(),
        )
        for rule in given
    )
