"""Query seeds with set operators, and with combinations of set operators, joins and aggregates."""

from __future__ import annotations

from benchmarks.workloads.seeds_aggregates import crowd_with
from benchmarks.workloads.seeds_joins import chain_conditions
from benchmarks.workloads.spellings import Seed, Writer
from benchmarks.workloads.transfers import HAVENS


def _accounts_of(w: Writer, column: str, low: float, high: float, *more: str) -> str:
    where = [w.above("amount", w.amount(low, high)), *more, *w.portfolio(column)]
    return w.select(f"{column} AS account", ["transfer"], where)


def _suspects(w: Writer) -> str:
    haven = w.one_of("rcountry", w.any_of(HAVENS, 3))
    parts = [_accounts_of(w, "sacct", 3e7, 1e8), _accounts_of(w, "racct", 1e7, 5e7, haven)]
    w.random.shuffle(parts)
    return f"{parts[0]} {w.one('UNION', 'UNION', 'UNION ALL')} {parts[1]}"


def _parked(w: Writer) -> str:
    return f"{_accounts_of(w, 'racct', 2e7, 1e8)} EXCEPT {_accounts_of(w, 'sacct', 1e5, 1e6)}"


def _corridors(w: Writer) -> str:
    keys = w.one("sbank, rbank", "scountry, rcountry", "sbank, rcountry")
    where = [w.above("amount", w.amount(3e7, 1e8)), w.differs("scountry", "rcountry"), *w.portfolio("sacct")]
    return w.select(f"DISTINCT {keys}", ["transfer"], where)


def _passed(w: Writer, aliases: list[str], outputs: str) -> str:
    return w.select(
        outputs.format(*aliases),
        aliases,
        [*chain_conditions(w, aliases), *w.portfolio(f"{aliases[0]}.sacct")],
    )


def _distinct_passed(w: Writer) -> str:
    return _passed(w, w.aliases(2), "DISTINCT {0}.sacct AS source, {1}.racct AS target")


def _middle_men(w: Writer) -> str:
    """Accounts that pass on again and again."""
    aliases = w.aliases(2)
    text = _passed(w, aliases, "{0}.racct AS middle, COUNT(*) AS n, SUM({1}.amount) AS total")
    return f"{text} GROUP BY {aliases[0]}.racct HAVING {w.at_least('COUNT(*)', w.count(1, 2))}"


def _collected_and_sent(w: Writer) -> str:
    """An account that collected small transfers sends a large one."""
    where = [w.equal("t.sacct", "f.racct"), w.above("t.amount", w.amount(5e4, 2e5))]
    outputs = "t.tran_id AS tran_id, f.racct AS account, f.n AS transfers"
    tables = f"FROM ({crowd_with(w, 'COUNT(*) AS n')}) f, transfer t WHERE"
    return " ".join(["SELECT", outputs, tables, " AND ".join(where)])


def _passed_but_parked(w: Writer) -> str:
    """Where money was passed on to, but did not leave again."""
    return f"{_passed(w, w.aliases(2), '{1}.racct AS account')} EXCEPT {_accounts_of(w, 'sacct', 3e5, 1e6)}"


SETS = (
    Seed("suspects", "set operator", 3, _suspects),
    Seed("parked", "set operator", 2, _parked),
    Seed("corridors", "set operator", 2, _corridors),
    Seed("distinct_passed", "combination", 2, _distinct_passed),
    Seed("middle_men", "combination", 2, _middle_men),
    Seed("collected_and_sent", "combination", 2, _collected_and_sent),
    Seed("passed_but_parked", "combination", 1, _passed_but_parked),
)
