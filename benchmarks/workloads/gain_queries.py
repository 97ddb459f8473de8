"""Query sets that one technique of the optimiser applies to, over transfers and over admissions.

Each set is written so that the technique matters, as in the paper's examples, and so that it changes no
result: a benchmark runs it with the technique and without. Constants come from pools, so queries overlap.

Cites: ARGUS 4, 5.3, 5.4
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product


def _amounts_implied() -> Iterator[str]:
    """The paper's example: a bound on the first amount bounds the second, and so the third."""
    for low, ratio, days in product((500_000, 1_000_000, 2_000_000), (0.5, 0.6, 0.7), (3, 5)):
        yield _select(
            "r1.tran_id AS first, r3.tran_id AS last",
            "transfer r1, transfer r2, transfer r3",
            f"r1.amount > {low}",
            f"r2.amount > r1.amount * {ratio}",
            f"r3.amount > r2.amount * {ratio}",
            "r2.sacct = r1.racct AND r3.sacct = r2.racct AND r2.ts > r1.ts AND r3.ts > r2.ts",
            f"r3.tran_date <= r1.tran_date + {days}",
        )


def _charges_implied() -> Iterator[str]:
    """A costly stay after a costly one: the bound on the first charge bounds the others."""
    for low, ratio, days in product((20_000, 30_000, 40_000), (0.4, 0.5, 0.6), (40, 50)):
        yield _select(
            "a.adm_id AS first, c.adm_id AS last",
            "admission a, admission b, admission c",
            f"a.charge > {low}",
            f"b.charge > a.charge * {ratio}",
            f"c.charge > b.charge * {ratio}",
            "b.patient = a.patient AND c.patient = b.patient AND b.ts > a.ts AND c.ts > b.ts",
            f"c.adm_date <= a.adm_date + {days}",
        )


def _transfers_mostly_pass() -> Iterator[str]:
    """Conditions that nearly all transfers satisfy, beside a join that few pairs pass."""
    for code, least, hours in product(("SVC", "DRW", "FFS"), (5, 10, 20), (24, 36)):
        passing = [f"{side}.function_code <> '{code}' AND {side}.amount > {least}" for side in "ab"]
        yield _select(
            "a.tran_id AS first, b.tran_id AS last",
            "transfer a, transfer b",
            *passing,
            "b.sacct = a.racct AND b.amount > a.amount * 100 AND b.ts > a.ts",
            f"b.ts <= a.ts + INTERVAL '{hours}' HOUR",
        )


def _admissions_mostly_pass() -> Iterator[str]:
    """Conditions that nearly all admissions satisfy, beside a join that few pairs pass."""
    for outcome, least, days in product(("died", "left"), (100, 150, 200), (2, 3, 4)):
        passing = [f"{side}.charge > {least} AND {side}.payer <> 'none'" for side in "ab"]
        yield _select(
            "a.adm_id AS first, b.adm_id AS last",
            "admission a, admission b",
            *passing,
            f"a.outcome <> '{outcome}' AND b.patient = a.patient AND b.charge > a.charge * 20",
            f"b.ts > a.ts AND b.ts <= a.ts + INTERVAL '{days}' DAY",
        )


def _transfers_last_is_rare() -> Iterator[str]:
    """The rare transfer is named last: in the order of the text transfers of a day and a bank meet first."""
    for low, days in product((1_000_000, 1_500_000, 2_000_000), (3, 4, 5)):
        yield _select(
            "a.tran_id AS first, c.tran_id AS last",
            "transfer a, transfer b, transfer c",
            "b.sbank = a.rbank AND b.tran_date = a.tran_date AND a.amount > b.amount * 20",
            f"c.sacct = b.racct AND c.ts > b.ts AND c.amount > {low}",
            f"c.tran_date <= b.tran_date + {days}",
        )


def _admissions_last_is_rare() -> Iterator[str]:
    """Who was there on the day of a patient whose next stay was costly and ended badly, which comes last."""
    for low, days in product((20_000, 30_000, 40_000), (20, 30, 40)):
        yield _select(
            "a.adm_id AS first, c.adm_id AS last",
            "admission a, admission b, admission c",
            "a.hospital = b.hospital AND a.adm_date = b.adm_date AND a.charge > b.charge * 20",
            f"c.patient = b.patient AND c.ts > b.ts AND c.outcome = 'died' AND c.charge > {low}",
            f"c.adm_date <= b.adm_date + {days}",
        )


def _transfers_grouped() -> Iterator[str]:
    """Counts, sums and means by accounts, banks and countries."""
    keys = ("sacct", "racct", "sbank", "sbank, rcountry", "rcountry, tran_date")
    functions = ("COUNT(*) AS n", "COUNT(*) AS n, SUM(amount) AS total", "COUNT(*) AS n, AVG(amount) AS mean")
    for low, by, computed in product((20_000, 50_000, 100_000), keys, functions):
        yield _grouped(by, computed, f"transfer WHERE amount > {low}", "COUNT(*) % 8 = 7")


def _admissions_grouped() -> Iterator[str]:
    """Counts, sums and means by keys of which some are finer than others."""
    keys = ("hospital", "hospital, ward", "hospital, diagnosis", "diagnosis", "ward, severity")
    functions = ("COUNT(*) AS n", "COUNT(*) AS n, SUM(charge) AS total", "COUNT(*) AS n, AVG(days) AS stay")
    for charge, by, computed in product((20_000, 30_000, 40_000), keys, functions):
        yield _grouped(by, computed, f"admission WHERE charge > {charge}", "COUNT(*) % 8 = 7")


def _transfers_regrouped() -> Iterator[str]:
    """Coarser groups of rows that a finer grouping has already."""
    coarser = ("scountry, rcountry", "rcountry, type_code", "scountry", "rcountry", "type_code")
    keys = ("scountry, rcountry, type_code", *coarser)
    for by, low in product(keys, (1_000, 5_000)):
        from_where = f"transfer WHERE amount > {low}"
        yield _grouped(by, "COUNT(*) AS n, SUM(amount) AS total", from_where, "COUNT(*) % 12 = 11")


def _admissions_regrouped() -> Iterator[str]:
    """Coarser groups of rows that a finer grouping has already."""
    keys = (
        "hospital, ward, severity, payer",
        "hospital, ward",
        "ward, severity",
        "hospital",
        "ward",
        "payer",
    )
    for by, low in product(keys, (100, 500)):
        from_where = f"admission WHERE charge > {low}"
        yield _grouped(by, "COUNT(*) AS n, SUM(charge) AS total", from_where, "COUNT(*) % 12 = 11")


def _transfer_sets() -> Iterator[str]:
    """Accounts that send much or receive from afar, and accounts where money stays."""
    for low, country, code in product((200_000, 400_000, 800_000), ("KY", "PA", "CH"), ("BTR", "CTP")):
        sends = _select("sacct AS account", "transfer", f"amount > {low}", f"function_code = '{code}'")
        receives = _select("racct AS account", "transfer", f"amount > {low}", f"rcountry = '{country}'")
        small = _select("sacct AS account", "transfer", "amount > 20000", "purpose = 'rent'")
        yield f"{sends} UNION {receives}"
        yield f"{receives} UNION {sends} UNION {small}"
        yield f"{receives} EXCEPT {small}"


def _admission_sets() -> Iterator[str]:
    """Patients of one kind or another, and patients of one kind and not of another."""
    for charge, ward, days in product((100_000, 150_000, 200_000), ("oncology", "intensive"), (25, 30, 35)):
        costly = _select("patient", "admission", f"charge > {charge}")
        long_stay = _select("patient", "admission", f"days > {days}", f"ward = '{ward}'")
        bad = _select("patient", "admission", "outcome = 'died'", "severity = 4")
        yield f"{costly} UNION {long_stay}"
        yield f"{long_stay} UNION {costly} UNION {bad}"
        yield f"{costly} EXCEPT {bad}"


def _select(outputs: str, tables: str, *conditions: str) -> str:
    return " ".join(["SELECT", outputs, "FROM", tables, "WHERE", " AND ".join(conditions)])


def _grouped(keys: str, functions: str, from_where: str, having: str) -> str:
    return " ".join(
        ["SELECT", f"{keys}, {functions}", "FROM", from_where, "GROUP BY", keys, "HAVING", having]
    )


Texts = Callable[[], Iterator[str]]
QUERY_SETS: Mapping[str, Mapping[str, Texts]] = {
    "transitivity": {"Fed": _amounts_implied, "Med": _charges_implied},
    "materialisation": {"Fed": _transfers_mostly_pass, "Med": _admissions_mostly_pass},
    "join order": {"Fed": _transfers_last_is_rare, "Med": _admissions_last_is_rare},
    "aggregates": {"Fed": _transfers_grouped, "Med": _admissions_grouped},
    "vertical expansion": {"Fed": _transfers_regrouped, "Med": _admissions_regrouped},
    "set operators": {"Fed": _transfer_sets, "Med": _admission_sets},
}


def gain_queries(technique: str, data: str, most: int) -> str:
    """The statements of at most so many queries of a set.

    >>> print(gain_queries("join order", "Fed", 1)[:48])
    CREATE QUERY q0 AS SELECT a.tran_id AS first, c.
    """
    texts = islice(QUERY_SETS[technique][data](), most)
    return "".join(f"CREATE QUERY q{number} AS {text};\n" for number, text in enumerate(texts))
