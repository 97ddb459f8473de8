"""Plans that are known to be empty: conditions over several tables, what is above them, no row that fits."""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Join, Lookup, Plan, walk
from seine.algebra.types import BIGINT, DOUBLE, STRING
from seine.evaluate.evaluate import evaluate
from seine.network.network import build_network
from seine.optimizer.known_empty import contradict, is_known_empty
from seine.optimizer.optimise import optimise
from seine.safety.verdict import NEVER_REPORTS, verdict
from tests.support.front_end import parse
from tests.support.seeds import seeds

COLUMNS = (
    "x BIGINT, y BIGINT, i INT, s STRING, d DATE, f DOUBLE, t TIMESTAMP, b BOOLEAN, m DECIMAL(8,2), ts BIGINT"
)
TABLES = (
    "".join(
        f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts {window} FROM '{name}.jsonl';\n"
        for name, window in (("a", "WINDOW 9"), ("b", "WINDOW 9"), ("c", "WINDOW 9"), ("u", ""), ("v", ""))
    )
    + "CREATE RELATION r (x BIGINT, s STRING) FROM 'r.jsonl';\n"
)

CONTRADICTIONS = (
    "a, b WHERE a.x > 5 AND a.x = b.x AND b.x < 3",
    "a, b WHERE a.x IN (1, 2) AND a.x = b.x AND b.x IN (3, 4)",
    "a, b, c WHERE a.x IN (1, 2, 9) AND a.x = b.x AND b.x = c.x AND c.x IN (3, 5)",
    "a, b WHERE a.x = 1 AND a.x = b.x AND b.x = 2",
    "a, b WHERE a.x BETWEEN 1 AND 3 AND a.x = b.x AND b.x BETWEEN 5 AND 7",
    "a, b WHERE a.x IS NULL AND a.x = b.x",
    "a, b WHERE a.s IS NULL AND a.s = b.s AND a.x = b.x",
    "a, b WHERE a.x IS NULL AND a.x > b.x",
    "a, b WHERE a.s = 'u' AND a.s = b.s AND b.s = 'v'",
    "a, b WHERE a.s IN ('u', 'w') AND a.s = b.s AND b.s IN ('v', 'x')",
    "a, b WHERE a.s > 'm' AND a.s = b.s AND b.s < 'c'",
    "a, b WHERE a.d = DATE '2024-01-01' AND a.d = b.d AND b.d > DATE '2024-02-01'",
    "a, b WHERE year(a.d) = 2024 AND a.d = b.d AND b.d < DATE '2023-01-01'",
    "a, b WHERE a.t > TIMESTAMP '2024-01-01' AND a.t = b.t AND b.t < TIMESTAMP '2023-01-01'",
    "a, b WHERE a.m > 5 AND a.m = b.m AND b.m < 3",
    "a, b WHERE a.f > 5 AND a.f = b.f AND b.f < 3",
    "a, b WHERE a.x > 5 AND a.x = b.i AND b.i < 3",
    "a, b WHERE a.x = b.x + 1 AND a.x = 1 AND b.x = 5",
    "a, b WHERE a.b AND a.b = b.b AND NOT b.b",
    "a, b, c WHERE a.x = b.x AND b.x = c.x AND a.x = 1 AND c.x = 2",
    "a, r WHERE a.s = r.s AND r.s = 'u' AND a.s = 'v'",
    "a JOIN b ON a.x = b.x AND a.x > 5 WHERE b.x < 3",
    "a LEFT JOIN b ON a.x = b.x WHERE a.x > 5 AND b.x < 3",
    "a JOIN (SELECT x, y FROM b WHERE y > 3) AS z ON a.x = z.x WHERE z.y < 2",
    "a WHERE a.x > 5 AND a.x < 3",
    "a WHERE FALSE",
    "u, v WHERE u.x > 5 AND u.x = v.y AND v.y < 3",
)
POSSIBLE = (
    "a, b WHERE a.x > 5 AND a.x = b.x AND b.x < 30",
    "a, b WHERE a.x > 5 AND b.x < 3",
    "a, b WHERE a.x IN (1, 2) AND a.x = b.x AND b.x IN (2, 3)",
    "a, b WHERE a.x IS NULL AND a.y = b.x",
    "a LEFT JOIN b ON a.x = b.x WHERE a.x > 5 AND b.x IS NULL",
    "a LEFT JOIN b ON a.x = b.x AND a.x > 5 AND b.x < 3",
    "a FULL JOIN b ON a.x = b.x AND a.x > 5 AND b.x < 3",
    "a JOIN b ON a.s = b.s WHERE a.s >= 'b' AND b.s <= 'b'",
    "a, b WHERE a.x > 5 AND (a.x = b.x OR a.y = b.y) AND b.x < 3",
)


def planned(text: str) -> Plan:
    return next(iter(parse(f"{TABLES}CREATE QUERY q AS {text};").declarations.queries.values())).plan


@pytest.mark.parametrize("tail", CONTRADICTIONS)
def test_a_contradiction_builds_no_join_and_the_check_says_so(tail: str) -> None:
    name = tail.split()[0].rstrip(",")
    script = parse(f"{TABLES}CREATE QUERY q AS SELECT {name}.x FROM {tail};").declarations
    (query,) = script.queries.values()
    judged = verdict(query)
    assert is_known_empty(query.plan) and judged.accepted and judged.safe and judged.reason == NEVER_REPORTS
    assert not any(isinstance(part, Join | Lookup) for part in walk(optimise(query.plan)))
    kinds = sorted(node.kind for node in build_network([query]).nodes.values())
    assert kinds == ["deliver", "source"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s, COUNT(*) AS n FROM ({}) AS z GROUP BY s",
        "SELECT DISTINCT s FROM ({}) AS z",
        "SELECT s FROM ({}) AS z UNION ALL SELECT s FROM ({}) AS w",
        "SELECT s FROM ({}) AS z EXCEPT SELECT s FROM c",
        "SELECT s FROM c INTERSECT SELECT s FROM ({}) AS z",
        "SELECT s FROM c WHERE EXISTS (SELECT 1 FROM ({}) AS z WHERE z.s = c.s)",
        "SELECT * FROM ({}) AS z ORDER BY s LIMIT 3",
        "SELECT z.s FROM ({}) AS z LEFT JOIN c ON c.s = z.s",
    ],
)
def test_what_is_made_of_nothing_alone_is_empty(text: str) -> None:
    inner = "SELECT a.s FROM a, b WHERE a.x > 5 AND a.x = b.x AND b.x < 3"
    assert is_known_empty(planned(text.replace("{}", inner)))
    assert not is_known_empty(planned(text.replace("{}", inner.replace("< 3", "< 9"))))


@pytest.mark.parametrize("tail", POSSIBLE)
def test_what_may_have_rows_is_not_known_to_be_empty(tail: str) -> None:
    plan = planned(f"SELECT a.x FROM {tail}")
    assert not is_known_empty(plan)


def test_what_has_rows_without_the_contradiction_loses_that_part_alone() -> None:
    """An outer join keeps its rows without partners, a union its other branch, a total of nothing its row."""
    inner = "SELECT a.s FROM a, b WHERE a.x > 5 AND a.x = b.x AND b.x < 3"
    for text, gone in (
        (f"SELECT s FROM c UNION ALL {inner}", True),
        (f"SELECT COUNT(*) AS n FROM ({inner}) AS z", True),
        (f"SELECT s FROM c EXCEPT {inner}", False),
    ):
        plan = planned(text)
        assert not is_known_empty(plan), text
        assert gone is not any(isinstance(part, Join) for part in walk(optimise(plan))), text


@seeds(60)
def test_no_row_satisfies_what_contradicts(seed: int) -> None:
    """Random conditions over three rows of two columns, and all rows over a few values."""
    rng, known = Random(seed), 0
    for _ in range(25):
        type_ = rng.choice([BIGINT, STRING, DOUBLE])
        values: list[object] = [None, *("a", "b", "c")] if type_ is STRING else [None, 1, 2, 3]
        columns = [Column(index, type_) for index in range(4)]
        conditions = [_condition(rng, columns, values[1:]) for _ in range(rng.randint(2, 5))]
        rows = list(itertools.product(values, repeat=4))
        batch = [pa.array([row[i] for row in rows], type_.arrow()) for i in range(4)]
        alive = [True] * len(rows)
        for condition in conditions:
            held = evaluate(condition, batch, len(rows)).to_pylist()
            alive = [one and other is True for one, other in zip(alive, held, strict=True)]
        if contradict(conditions):
            known += 1
            assert not any(alive), list(map(str, conditions))
    assert known > 0


def _condition(rng: Random, columns: list[Column], values: list[object]) -> Expression:
    one, other = rng.sample(columns, 2)
    constant = lambda: literal(float(v) if one.type is DOUBLE else v) if (v := rng.choice(values)) else None  # noqa: E731
    match rng.randrange(5):
        case 0 | 1:
            return resolve_call("eq", [one, other])
        case 2:
            return resolve_call(rng.choice(["lt", "le", "gt", "ge", "eq", "ne"]), [one, constant()])
        case 3:
            return resolve_call("in", [one, constant(), constant()])
        case _:
            return resolve_call(rng.choice(["is_null", "is_not_null"]), [one])
