"""Generated banks, accounts and watch list: what transfers move between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, FloatArray, IntArray

HAVENS = ("KY", "PA", "VG", "CY")
_COUNTRIES = ("US", "GB", "DE", "CH", "SG", *HAVENS)
_RISK = dict(zip(_COUNTRIES, (1, 1, 1, 2, 2, 5, 5, 5, 4), strict=True))
_SHARE = (0.70, 0.07, 0.05, 0.05, 0.04, 0.03, 0.02, 0.02, 0.02)
_PLACES = (
    "Harbor",
    "Prairie",
    "Granite",
    "Cedar",
    "Summit",
    "Bayside",
    "Liberty",
    "Canal",
    "Mesa",
    "Orchard",
)
_BANKS = ("First {} Bank", "{} Trust", "{} National Bank", "{} Savings", "Bank of {}", "{} Private Bank")
_TRADES = (
    "Trading",
    "Holdings",
    "Imports",
    "Logistics",
    "Foods",
    "Textiles",
    "Energy",
    "Consulting",
    "Motors",
)
_FORMS = ("LLC", "Inc", "Ltd", "GmbH", "SA")
ACCOUNTS = 10_000
_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class World:
    """Banks and accounts as columns; `weight` is the share of an account in the traffic."""

    aba: AnyArray
    bank_name: AnyArray
    country: AnyArray
    account: IntArray
    holder: AnyArray
    bank_of: IntArray
    weight: FloatArray

    @property
    def quiet(self) -> IntArray:
        """Accounts with little ordinary traffic, where a planted pattern stays recognisable."""
        return np.argsort(self.weight)[: len(self.weight) // 2]

    @property
    def in_havens(self) -> IntArray:
        """Quiet accounts at a bank in a haven."""
        quiet = self.quiet
        return quiet[np.isin(self.country[self.bank_of[quiet]], HAVENS)]


def make_world(rng: np.random.Generator) -> World:
    """Sixty banks and ten thousand accounts, a few of which carry most of the traffic (Zipf)."""
    names = np.array([form.format(place) for place in _PLACES for form in _BANKS])
    country = rng.choice(_COUNTRIES, size=len(names), p=_SHARE)
    country[: len(_COUNTRIES)] = _COUNTRIES
    return World(
        aba=np.char.zfill(_numbers(rng, len(names), 10_000_000, 129_999_999).astype("U9"), 9),
        bank_name=names,
        country=country,
        account=_numbers(rng, ACCOUNTS, 1_000_000_000, 9_999_999_999),
        holder=_holders(rng),
        bank_of=rng.choice(len(names), size=ACCOUNTS, p=_zipf(rng, len(names))),
        weight=_zipf(rng, ACCOUNTS),
    )


def bank_table(world: World) -> pa.Table:
    """The relation `bank`."""
    risk = [_RISK[country] for country in world.country]
    return pa.table({"aba": world.aba, "name": world.bank_name, "country": world.country, "risk": risk})


def watch_list(world: World, accounts: IntArray, since: AnyArray) -> pa.Table:
    """The relation `watchlist`: accounts watched from an instant on, every third for a month only."""
    month = np.timedelta64(30, "D").astype("timedelta64[us]")
    until = pa.array(since + month, _INSTANT, mask=np.arange(len(accounts)) % 3 != 0)
    reasons = np.resize(["court order", "sanctions", "tip-off", "unusual profile"], len(accounts))
    return pa.table(
        {
            "account": world.account[accounts],
            "reason": reasons,
            "listed": pa.array(since, _INSTANT),
            "cleared": until,
        }
    )


def _numbers(rng: np.random.Generator, count: int, low: int, high: int) -> IntArray:
    """Distinct random numbers."""
    return low + rng.choice(high - low, size=count, replace=False)


def _zipf(rng: np.random.Generator, count: int) -> FloatArray:
    """Weights by Zipf's law in random order, with sum 1."""
    weight: FloatArray = 1 / (rng.permutation(count) + 12) ** 0.9
    shares: FloatArray = weight / weight.sum()
    return shares


def _holders(rng: np.random.Generator) -> AnyArray:
    parts = [rng.choice(words, size=ACCOUNTS) for words in (_PLACES, _TRADES, _FORMS)]
    return np.char.add(np.char.add(parts[0], " "), np.char.add(np.char.add(parts[1], " "), parts[2]))
