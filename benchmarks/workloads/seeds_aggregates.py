"""Query seeds with GROUP BY and HAVING."""

from __future__ import annotations

from benchmarks.workloads.spellings import Seed, Writer
from benchmarks.workloads.transfers import HAVENS


def _group(w: Writer, keys: str, functions: str, conditions: list[str], having: list[str]) -> str:
    text = w.select(f"{keys}, {functions}", ["transfer"], conditions)
    return f"{text} GROUP BY {keys} HAVING {' AND '.join(having)}"


def _crowd(w: Writer) -> str:
    return crowd_with(
        w, w.one("COUNT(*) AS n", "COUNT(*) AS n, SUM(amount) AS total", "COUNT(*) AS n, MIN(ts) AS t")
    )


def crowd_with(w: Writer, functions: str) -> str:
    """Accounts that collect many transfers just below 10,000, with aggregate functions."""
    small = w.between("amount", w.one("9000", "8900"), "9999.99")
    return _group(
        w, "racct", functions, [small, *w.portfolio("racct")], [w.at_least("COUNT(*)", w.count(20, 23))]
    )


def _sent_in_all(w: Writer) -> str:
    functions = w.one(
        "SUM(amount) AS total",
        "SUM(amount) AS total, COUNT(*) AS n",
        "SUM(amount) AS total, AVG(amount) AS mean",
    )
    large = [w.above("amount", w.amount(1e6, 4e6)), *w.portfolio("sacct")]
    return _group(w, "sacct", functions, large, [w.above("SUM(amount)", w.amount(6e7, 2e8))])


def _busy_bank(w: Writer) -> str:
    bank = w.one("sbank", "rbank")
    large = [w.above("amount", w.amount(5e6, 1e7)), *w.portfolio("sacct")]
    return _group(
        w, bank, "COUNT(*) AS n, MAX(amount) AS largest", large, [w.above("COUNT(*)", w.count(8, 16))]
    )


def _frequent_pair(w: Writer) -> str:
    small = [w.above("amount", w.amount(1e4, 4e4)), *w.portfolio("sacct")]
    return _group(
        w,
        "sacct, racct",
        "COUNT(*) AS n, AVG(amount) AS mean",
        small,
        [w.at_least("COUNT(*)", w.count(7, 12))],
    )


def _largest(w: Writer) -> str:
    large = [w.above("amount", w.amount(1e6, 2e6)), *w.portfolio("racct")]
    having = [w.above("MAX(amount)", w.amount(4e7, 1e8)), w.at_least("COUNT(*)", w.count(2, 3))]
    return _group(w, "racct", "MAX(amount) AS largest, MIN(amount) AS smallest", large, having)


def _day_of_haven(w: Writer) -> str:
    large = [
        w.above("amount", w.amount(3e6, 1e7)),
        w.one_of("rcountry", w.any_of(HAVENS, 3)),
        *w.portfolio("sacct"),
    ]
    return _group(
        w,
        "tran_date, rcountry",
        "COUNT(*) AS n, SUM(amount) AS total",
        large,
        [w.at_least("COUNT(*)", w.count(4, 7))],
    )


AGGREGATES = (
    Seed("crowd", "aggregate", 3, _crowd),
    Seed("sent_in_all", "aggregate", 3, _sent_in_all),
    Seed("busy_bank", "aggregate", 2, _busy_bank),
    Seed("frequent_pair", "aggregate", 2, _frequent_pair),
    Seed("largest", "aggregate", 2, _largest),
    Seed("day_of_haven", "aggregate", 2, _day_of_haven),
)
