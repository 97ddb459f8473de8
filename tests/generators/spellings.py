"""Ways to spell that two whole numbers are equal, or that one is at most the other and a constant."""

from __future__ import annotations

from random import Random

EQUAL = (
    "{l} = {r}",
    "NOT ({l} <> {r})",
    "{l} IN ({r})",
    "{l} BETWEEN {r} AND {r}",
    "{l} <= {r} AND {l} >= {r}",
    "NOT ({l} < {r}) AND NOT ({l} > {r})",
    "NOT ({l} < {r} OR {l} > {r})",
    "{l} < {r} + 1 AND {r} < {l} + 1",
    "{l} - {r} = 0",
    "{l} + 1 = {r} + 1",
    "{l} = {r} + 0",
    "-{l} = -{r}",
    "2 * {l} = 2 * {r}",
    "{l} + {l} = {r} + {r}",
    "ABS({l} - {r}) = 0",
    "CAST({l} AS DECIMAL(20, 0)) = CAST({r} AS DECIMAL(20, 0))",
    "{l} = {r} OR {r} = {l}",
    "({l} = {r} AND {l} > 0) OR ({l} = {r} AND {l} <= 0)",
    "CASE WHEN {l} = {r} THEN TRUE ELSE FALSE END",
    "COALESCE({l} = {r}, FALSE)",
    "({l} = {r}) IS TRUE",
)
UNTOLD = (  # so spelled, an equality is not seen, and a cast that loses digits is none
    "{l} <=> {r}",
    "CAST({l} AS DOUBLE) = CAST({r} AS DOUBLE)",
    "CAST({l} AS STRING) = CAST({r} AS STRING)",
)
AT_MOST = (
    "{l} <= {r} + {k}",
    "NOT ({l} > {r} + {k})",
    "{r} + {k} >= {l}",
    "{l} - {k} <= {r}",
    "{l} - {r} <= {k}",
    "{l} < {r} + {k} + 1",
    "2 * {l} <= 2 * {r} + 2 * {k}",
    "{l} BETWEEN {r} - 100 AND {r} + {k}",
    "CAST({l} AS DECIMAL(20, 0)) <= {r} + {k}",
    "{l} = {r} + {k}",
    "2 * {l} = 2 * {r} + 2 * {k}",
    "{l} - {k} = {r}",
)


def equal(rng: Random, left: str, right: str, ways: tuple[str, ...] = EQUAL) -> str:
    return f"({rng.choice(ways).format(l=left, r=right)})"


def at_most(rng: Random, left: str, right: str, more: int) -> str:
    return f"({rng.choice(AT_MOST).format(l=left, r=right, k=more)})"
