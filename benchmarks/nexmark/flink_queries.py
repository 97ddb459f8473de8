"""Nexmark's queries in Flink's SQL, as its own benchmark has them, in `flink/`; q12 is of event time.

q6 is left out: Flink has no OVER above rows that change.
"""

from __future__ import annotations

from importlib.resources import files

FLINK_RUNS = tuple(f"q{number}" for number in range(23) if number != 6)
CHANGING = ("q4", "q9", "q15", "q16", "q17", "q18", "q19")  # results are a changelog


def flink_text(query: str) -> str:
    """The SELECT of a query.

    >>> flink_text("q2")
    'SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0'
    """
    path = files("benchmarks.nexmark").joinpath("flink", f"{query}.sql")
    return path.read_text(encoding="utf-8").strip()
