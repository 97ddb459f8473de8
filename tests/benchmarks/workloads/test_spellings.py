"""Spellings of one condition mean the same."""

from __future__ import annotations

from random import Random

import duckdb
from benchmarks.workloads.spellings import Writer
from benchmarks.workloads.transfers import make_transfers


def test_spellings_of_a_condition_mean_the_same() -> None:
    """All spellings with equal constants hold for equally many tuples, or pairs."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.register("every", make_transfers(60_000))
    database.execute("CREATE TABLE few AS SELECT * FROM every WHERE tran_id <= 1000 AND amount > 20000")
    database.execute("CREATE TABLE pair AS SELECT a, b FROM few a, few b")
    says = {
        "above": lambda w: w.above("a.amount", "50000"),
        "at_least": lambda w: w.at_least("a.amount", "50000"),
        "between": lambda w: w.between("a.amount", "30000", "70000"),
        "equal": lambda w: w.equal("a.sacct", "b.racct"),
        "differs": lambda w: w.differs("a.scountry", "b.rcountry"),
        "after": lambda w: w.after("b", "a"),
        "within": lambda w: w.within("b", "a", 1),
        "within_dates": lambda w: w.within_dates("b", "a", 1),
        "keeps": lambda w: w.keeps("b", "a", 0.8, 0.8),
        "one_of": lambda w: w.one_of("a.rcountry", ["US", "KY"]),
    }
    for name, say in says.items():
        texts = {say(Writer(Random(number), 1)) for number in range(60)}
        assert len(texts) >= 2, name
        counts = {database.execute(f"SELECT COUNT(*) FROM pair WHERE {text}").fetchone() for text in texts}
        assert len(counts) == 1, (name, texts)
