"""Seeds of queries: of every kind, safe, overlapping, and as many matches for more queries."""

from __future__ import annotations

import re
from random import Random

import duckdb
import pytest
from benchmarks.workloads.seeds import SEEDS, named_queries, queries
from benchmarks.workloads.spellings import Seed, Writer
from benchmarks.workloads.transfers import make_transfers

from seine.safety.verdict import refuse_unsafe
from tests.support.transfer_script import transfer_script

KINDS = {
    "selection",
    "2-way join",
    "3-way join",
    "4-way join",
    "5-way join",
    "aggregate",
    "set operator",
    "combination",
}


def test_seeds_are_of_every_kind() -> None:
    assert {seed.kind for seed in SEEDS} == KINDS
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) >= 30


def test_fewer_queries_are_the_beginning_of_more() -> None:
    assert queries(200).startswith(queries(100))
    assert queries(50, seed=1) != queries(50, seed=2)


def test_every_kind_is_among_100_queries() -> None:
    kinds = {seed.name: seed.kind for seed in SEEDS}
    assert {kinds[name.rsplit("_", 1)[0]] for name, _ in named_queries(100)} == KINDS


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
@pytest.mark.parametrize("share", [None, 0.01])
def test_queries_of_a_seed_are_safe_and_vary(seed: Seed, share: float | None) -> None:
    writer = Writer(Random(3), 6, share)
    texts = [seed.write(writer) for _ in range(12)]
    script = transfer_script("".join(f"CREATE QUERY q{i} AS {text};\n" for i, text in enumerate(texts)))
    refuse_unsafe(script)
    assert len(script.declarations.queries) == 12
    assert len(set(texts)) > 6
    if share:
        assert all(re.search(r"[sr]acct\b.*\d{10}|\d{10}.*[sr]acct\b", text) for text in texts)


def test_pools_grow_with_the_queries() -> None:
    def amounts(count: int) -> int:
        return len(set(re.findall(r"\b\d{7,}\b", queries(count))))

    assert amounts(3_000) > 2 * amounts(768)


def test_portfolios_keep_the_matches() -> None:
    """With portfolios that shrink as queries grow, selections find about equally many transfers."""
    database = duckdb.connect()
    database.register("transfer", make_transfers(60_000))
    selection = next(seed for seed in SEEDS if seed.name == "large")
    totals = []
    for count, share in ((20, 0.5), (200, 0.05)):
        writer = Writer(Random(1), 6, share)
        texts = [selection.write(writer).replace("WHERE", "WHERE amount > 0 AND", 1) for _ in range(count)]
        loose = [re.sub(r"\b\d{8,9}\b", "100000", text) for text in texts]
        answers = [database.execute(text).fetchall() for text in loose]
        totals.append(sum(map(len, answers)))
    assert totals[0] > 1_000
    assert totals[1] == pytest.approx(totals[0], rel=0.3)
