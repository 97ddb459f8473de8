"""The block of a plain query is the one that the rules and `block_of` arrive at, step by step."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Plan, Scan
from seine.algebra.types import BIGINT
from seine.network.plan.running_plan import restrict_to_arrivals, scan_since
from seine.optimizer.block import Block, block_of
from seine.optimizer.estimates import Estimates, Sample
from seine.optimizer.optimise import optimise
from seine.optimizer.plain_block import plain_block
from tests.generators.queries import Queries
from tests.generators.tables import random_tables
from tests.support.front_end import TABLES, parse
from tests.support.known_queries import known_queries
from tests.support.same_fields import difference
from tests.support.seeds import seed_range, seeds

QUERIES = (
    "SELECT a FROM s",
    "SELECT x.a, name FROM s x, t y, r WHERE x.a = y.a AND r.a = y.a AND r.name = 'n' AND x.b > 1 AND 1 = 1",
    "SELECT y.a FROM r, s x, t y WHERE NOT r.a <> x.a AND x.a - y.a = 0 AND r.a > 5 AND TRUE",
    "SELECT x.a FROM v, r, s x WHERE v.a = x.a AND r.name = x.c",
    "SELECT x.a + 1 AS n FROM s x JOIN s y ON x.a = y.a AND x.b > 2 JOIN t z ON z.e = x.a WHERE z.e < y.b",
    "SELECT x.a FROM t w, s x, t y, s z WHERE z.a = x.a AND y.e = w.e AND w.a = z.a AND x.k AND y.a > 2",
)


def _estimates(plan: Plan, tables: list[StreamDef], seed: int) -> Estimates:
    source = np.random.default_rng(seed)
    samples = {}
    for stream in tables:
        if all(field.type == BIGINT for field in stream.fields):
            columns = {f"c{i}": source.integers(0, 9, 50) for i in range(len(stream.fields))}
            samples[stream.name] = Sample(pa.record_batch(columns), float(source.integers(10, 10_000)), 1.0)
    return Estimates(samples)


def _both(plan: Plan, *, live: bool, estimates: Estimates | None) -> tuple[Block | None, Block]:
    def scanned(scan: Scan) -> tuple[Scan, tuple]:  # type: ignore[type-arg]
        return scan_since(scan, 3) if live else (scan, ())

    rebuilt = optimise(restrict_to_arrivals(plan, 3) if live else plan, estimates=estimates)
    return plain_block(plan, scanned, estimates=estimates), block_of(rebuilt)


@seeds(8)
def test_random_queries(seed: int) -> None:
    rng = Random(seed)
    tables = random_tables(rng)
    maker = Queries(rng, tables)
    declared = "\n".join(table.declaration() for table in tables)
    texts = [maker.plain(rng.choice([1, 2, 3, 4])) for _ in range(25)]
    queries = "".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(texts))
    script = parse(declared + queries).declarations
    assert _agreeing(script.queries.values(), list(script.streams.values()), seed) >= 20


def _agreeing(queries, streams: list[StreamDef], seed: int) -> int:  # type: ignore[no-untyped-def]
    plain = 0
    for query in queries:
        for live in (True, False):
            for estimates in (None, _estimates(query.plan, streams, seed)):
                quick, slow = _both(query.plan, live=live, estimates=estimates)
                assert quick is None or quick == slow, query.text
                same = quick is not None
        plain += same
    return plain


def test_all_known_queries() -> None:
    plain = 0
    for query in known_queries(seed_range(1))[::3]:
        plan = query.plan(query.text) if query.is_select else ""
        if isinstance(plan, Plan) and plain_block(plan, lambda scan: (scan, ())) is not None:
            for live in (True, False):
                quick, slow = _both(plan, live=live, estimates=None)
                assert difference(quick, slow) is None, query.text
            plain += 1
    assert plain > 100


def test_relations_constants_and_equalities_in_disguise() -> None:
    queries = "".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(QUERIES))
    script = parse(TABLES + queries).declarations
    assert _agreeing(script.queries.values(), list(script.streams.values()), 0) == len(QUERIES)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
        "SELECT DISTINCT a FROM s",
        "SELECT a FROM s UNION ALL SELECT a FROM t",
        f"SELECT a FROM s WHERE {' + '.join(['b'] * 60)} IN ({', '.join(f'b * {n}' for n in range(700))})",
    ],
)
def test_what_is_not_plain_is_left_to_the_rules(text: str) -> None:
    plan = parse(f"{TABLES}CREATE QUERY q AS {text};").declarations.queries["q"].plan
    assert plain_block(plan, lambda scan: (scan, ())) is None
