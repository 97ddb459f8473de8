"""A generator of equivalent spellings of conditions, with constants from small pools.

Analysts differ in the order of operands, in BETWEEN or two comparisons, in where the arithmetic stands, in
aliases and in the order of FROM and WHERE. All spellings of a condition hold for the same tuples.

Cites: ARGUS 5.1.1, 5.1.2, 7.1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.workloads.transfers import ACCOUNT_HIGH, ACCOUNT_LOW

ALIASES = (("r1", "r2", "r3", "r4", "r5"), ("a", "b", "c", "d", "e"), ("x", "y", "z", "u", "v"))
_PLAIN = 0.4  # the probability of the first spelling of a condition


class Writer:
    """Writes the conditions of one query after the other, from one random generator.

    `steps` is the size of a pool of constants. `share` restricts every query to that share of the accounts,
    the portfolio of its analyst.
    """

    def __init__(self, random: Random, steps: int, share: float | None = None) -> None:
        self.random = random
        self.steps = steps
        self.share = share

    # Constants

    def amount(self, low: float, high: float) -> str:
        """An amount from a pool that is geometric between two bounds, to three digits."""
        value = low * (high / low) ** (self.random.randrange(self.steps) / self.steps)
        unit = 10 ** (math.floor(math.log10(value)) - 2)
        return str(round(value / unit) * unit if unit >= 1 else round(value, 2))

    def ratio(self, low: float, high: float) -> str:
        """A share, to three digits."""
        return f"{low + (high - low) * self.random.randrange(self.steps) / self.steps:.3f}"

    def count(self, low: int, high: int) -> str:
        """A random whole number between two bounds."""
        return str(self.random.randint(low, high))

    def days(self, most: int) -> str:
        """A period in whole days if the pool is small, otherwise in hours."""
        if self.steps <= 2 * most:
            return f"INTERVAL '{self.random.randint(1, most)}' DAY"
        return f"INTERVAL '{self.random.randint(12, most * 24)}' HOUR"

    def one(self, *choices: str) -> str:
        """One of these texts at random."""
        return self.random.choice(choices)

    def any_of(self, values: Sequence[str], most: int) -> list[str]:
        """A random sample of these values, at least 1 and at most `most`, in any order."""
        return self.random.sample(values, self.random.randint(1, most))

    # Conditions

    def spelled(self, plain: str, *others: str) -> str:
        """One of the spellings at random; the plain one is the most frequent."""
        return plain if self.random.random() < _PLAIN else self.random.choice(others)

    def above(self, what: str, limit: str) -> str:
        """what > limit."""
        return self.spelled(
            f"{what} > {limit}", f"{limit} < {what}", f"NOT {what} <= {limit}", f"{what} - {limit} > 0"
        )

    def at_least(self, what: str, limit: str) -> str:
        """what >= limit."""
        return self.spelled(f"{what} >= {limit}", f"{limit} <= {what}", f"NOT {what} < {limit}")

    def between(self, what: str, low: str, high: str) -> str:
        """low <= what <= high."""
        return self.spelled(
            f"{what} BETWEEN {low} AND {high}",
            f"{what} >= {low} AND {what} <= {high}",
            f"{high} >= {what} AND {low} <= {what}",
            f"NOT ({what} < {low} OR {what} > {high})",
        )

    def equal(self, left: str, right: str) -> str:
        """left = right."""
        return self.spelled(f"{left} = {right}", f"{right} = {left}", f"NOT {left} <> {right}")

    def differs(self, left: str, right: str) -> str:
        """left <> right."""
        return self.spelled(f"{left} <> {right}", f"{right} <> {left}", f"NOT {left} = {right}")

    def one_of(self, what: str, values: Sequence[str]) -> str:
        """what IN (values)."""
        texts = [f"'{value}'" for value in values]
        return self.spelled(
            f"{what} IN ({', '.join(texts)})", f"({' OR '.join(f'{what} = {text}' for text in texts)})"
        )

    def after(self, later: str, earlier: str) -> str:
        """One transfer is after another."""
        b, a = f"{later}.ts", f"{earlier}.ts"
        return self.spelled(f"{b} > {a}", f"{a} < {b}", f"NOT {b} <= {a}")

    def within(self, later: str, earlier: str, most: int) -> str:
        """At most so many days later, to the second."""
        b, a, period = f"{later}.ts", f"{earlier}.ts", self.days(most)
        return self.spelled(
            f"{b} <= {a} + {period}",
            f"{a} >= {b} - {period}",
            f"{b} - {period} <= {a}",
            f"NOT {b} > {a} + {period}",
        )

    def within_dates(self, later: str, earlier: str, most: int) -> str:
        """At most so many calendar days later."""
        b, a, days = f"{later}.tran_date", f"{earlier}.tran_date", self.count(1, most)
        return self.spelled(
            f"{b} <= {a} + {days}", f"{a} >= {b} - {days}", f"{a} + {days} >= {b}", f"NOT {b} > {a} + {days}"
        )

    def keeps(self, later: str, earlier: str, low: float, high: float) -> str:
        """More than a share of what came before."""
        b, a, ratio = f"{later}.amount", f"{earlier}.amount", self.ratio(low, high)
        return self.spelled(
            f"{b} > {a} * {ratio}",
            f"{ratio} * {a} < {b}",
            f"NOT {b} <= {ratio} * {a}",
            f"{b} - {a} * {ratio} > 0",
        )

    def accounts(self, what: str, share: float) -> str:
        """An account in a range that holds a share of all accounts."""
        width = round((ACCOUNT_HIGH - ACCOUNT_LOW) * share)
        places = max(1, min(round(1 / share), 100 * self.steps))
        low = ACCOUNT_LOW + (ACCOUNT_HIGH - ACCOUNT_LOW - width) * self.random.randrange(places) // places
        return self.between(what, str(low), str(low + width))

    def portfolio(self, what: str) -> list[str]:
        """The accounts that this query is confined to; nothing if there are no portfolios."""
        return [] if self.share is None else [self.accounts(what, self.share)]

    # Queries

    def aliases(self, count: int) -> list[str]:
        """So many aliases of one style."""
        return list(self.random.choice(ALIASES)[:count])

    def select(self, outputs: str, aliases: Sequence[str], conditions: Sequence[str]) -> str:
        """A SELECT over transfers with these aliases, FROM and WHERE in any order.

        >>> print(Writer(Random(3), 6).select("t.tran_id AS id", ["t"], ["t.amount > 5"]))
        SELECT t.tran_id AS id FROM transfer t WHERE t.amount > 5
        """
        tables, where = [f"transfer {alias}" for alias in aliases], list(conditions)
        self.random.shuffle(tables)
        self.random.shuffle(where)
        return " ".join(["SELECT", outputs, "FROM", ", ".join(tables), "WHERE", " AND ".join(where)])


@dataclass(frozen=True)
class Seed:
    """A query seed: a name, a kind, its weight among the seeds, and the function that writes a query."""

    name: str
    kind: str
    weight: int
    write: Callable[[Writer], str]
