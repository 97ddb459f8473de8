"""Query seeds with selections: single transfers by their attributes."""

from __future__ import annotations

from benchmarks.workloads.spellings import Seed, Writer
from benchmarks.workloads.transfers import HAVENS

_COLUMNS = ("tran_id, sacct, racct, amount", "tran_id, amount, ts", "tran_id, racct, rcountry, amount")


def _selection(w: Writer, *conditions: str) -> str:
    return w.select(w.one(*_COLUMNS), [w.one("t", "r", "transfer")], [*conditions, *w.portfolio("sacct")])


def _large(w: Writer) -> str:
    return _selection(w, w.above("amount", w.amount(2e7, 1e8)))


def _corridor(w: Writer) -> str:
    countries = w.one_of("rcountry", w.any_of(HAVENS, 3))
    return _selection(w, w.above("amount", w.amount(5e6, 2e7)), w.equal("scountry", "'US'"), countries)


def _watched(w: Writer) -> str:
    return _selection(w, w.accounts(w.one("sacct", "racct"), 1e-4), w.above("amount", w.amount(1e5, 2e6)))


def _round_sum(w: Writer) -> str:
    whole = w.equal("amount % 100000", "0")
    return _selection(w, w.at_least("amount", w.amount(8e6, 4e7)), whole)


def _at_night(w: Writer) -> str:
    return _selection(
        w,
        w.above("amount", w.amount(4e6, 2e7)),
        w.spelled("HOUR(ts) < 10", "10 > HOUR(ts)", "NOT HOUR(ts) >= 10"),
    )


def _just_below(w: Writer) -> str:
    return _selection(w, w.between("amount", "9000", "9999.99"), w.accounts("racct", 5e-4))


def _unexplained(w: Writer) -> str:
    why = w.spelled(
        "(purpose IS NULL OR purpose LIKE 'consult%')",
        "NOT (purpose IS NOT NULL AND purpose NOT LIKE 'consult%')",
    )
    return _selection(w, w.above("amount", w.amount(1e7, 6e7)), why, w.equal("function_code", "'CTR'"))


def _bank_pair(w: Writer) -> str:
    sends, receives = (w.count(0, 19) for _ in range(2))
    return _selection(
        w, w.equal("sbank", sends), w.equal("rbank", receives), w.above("amount", w.amount(1e6, 5e6))
    )


def _unusual_type(w: Writer) -> str:
    return _selection(
        w,
        w.differs("type_code", "'1000'"),
        w.differs("function_code", "'CTR'"),
        w.above("amount", w.amount(5e6, 4e7)),
    )


SELECTIONS = (
    Seed("large", "selection", 3, _large),
    Seed("corridor", "selection", 3, _corridor),
    Seed("watched", "selection", 4, _watched),
    Seed("round_sum", "selection", 2, _round_sum),
    Seed("at_night", "selection", 2, _at_night),
    Seed("just_below", "selection", 2, _just_below),
    Seed("unexplained", "selection", 2, _unexplained),
    Seed("bank_pair", "selection", 3, _bank_pair),
    Seed("unusual_type", "selection", 2, _unusual_type),
)
