"""Generated FedWire-like money transfers: skewed accounts, log-normal amounts, business hours, planted crime.

The attributes are those of a funds transfer message. The amounts, the bursts before the close and the few
accounts with most of the traffic make selections and joins as skewed as real ones.

Cites: ARGUS 7.1 (the synthesized FedWire database)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, FloatArray, IntArray
from seine.demo.money import money
from seine.demo.planted_patterns import Pattern, plant
from seine.demo.world import World, bank_table, make_world, watch_list

DAYS = 60  # business days
FIRST_DAY = np.datetime64("2026-01-05")
_OPEN, _CLOSE = 13 * 3600, 23.5 * 3600  # seconds of the day in UTC
_FUNCTIONS = ("CTR", "CTP", "BTR", "FFS", "DRW", "SVC")  # customer, customer plus, bank, fed funds, ...
_FUNCTION_SHARE = (0.62, 0.12, 0.14, 0.05, 0.04, 0.03)
_TYPES = ("1000", "1002", "1500", "1600")
_TYPE_SHARE = (0.86, 0.02, 0.02, 0.10)
_PURPOSES = ("invoice", "payroll", "loan", "rent", "securities", "consulting", "real estate")


@dataclass(frozen=True)
class Fedwire:
    """The transfers in order of arrival, the relations beside them, and the planted transfers' ids.

    `planted` has, for each pattern, one row an instance and one column a transfer.
    """

    transfers: pa.Table
    banks: pa.Table
    watch_list: pa.Table
    planted: dict[str, IntArray]


@dataclass(frozen=True)
class _Flow:
    """Transfers as columns, before they have ids and names."""

    sender: IntArray
    receiver: IntArray
    amount: FloatArray
    time: FloatArray  # business days since the first


def make_fedwire(transfers: int = 40_000, *, seed: int = 7) -> Fedwire:
    """Generate transfers and relations; the same for the same arguments.

    >>> made = make_fedwire(2_000, seed=1)
    >>> made.transfers.num_rows, made.planted["layering"].shape
    (2000, (8, 4))
    """
    rng = np.random.default_rng(seed)
    world = make_world(rng)
    patterns = plant(rng, world, DAYS)
    planted = _planted_flow(patterns)
    if transfers <= len(planted.time):
        raise ValueError(f"the planted patterns alone are {len(planted.time)} transfers")
    flow = _concatenate(planted, _honest_flow(rng, world, transfers - len(planted.time)))
    instant = _instants(flow.time)
    arrival = np.argsort(
        instant + rng.integers(0, 60, size=transfers).astype("timedelta64[s]"), kind="stable"
    )
    ids = np.empty(transfers, dtype=np.int64)
    ids[arrival] = np.arange(1, transfers + 1)
    table = _transfer_table(rng, world, flow, instant, ids).take(pa.array(arrival))
    return Fedwire(table, bank_table(world), _watched(rng, world, patterns), _planted_ids(patterns, ids))


def _planted_flow(patterns: dict[str, Pattern]) -> _Flow:
    def column(name: str) -> AnyArray:
        return np.concatenate([getattr(pattern, name).ravel() for pattern in patterns.values()])

    day, part = np.divmod(column("time"), 1)
    return _Flow(column("sender"), column("receiver"), column("amount"), _day_and_part(day, part))


def _planted_ids(patterns: dict[str, Pattern], ids: IntArray) -> dict[str, IntArray]:
    """The ids of planted transfers, which come first in the flow, pattern by pattern."""
    ends = np.cumsum([pattern.time.size for pattern in patterns.values()])
    pieces = np.split(ids[: ends[-1]], ends[:-1])
    return {
        name: piece.reshape(p.time.shape) for (name, p), piece in zip(patterns.items(), pieces, strict=True)
    }


def _honest_flow(rng: np.random.Generator, world: World, count: int) -> _Flow:
    accounts = len(world.weight)
    sender = rng.choice(accounts, size=count, p=world.weight)
    receiver = rng.choice(accounts, size=count, p=rng.permutation(world.weight))
    receiver = np.where(receiver == sender, (receiver + 1) % accounts, receiver)
    # Half the traffic comes all day long, half in the rush before the close; some at night.
    part = np.where(rng.random(count) < 0.5, rng.random(count), rng.beta(6, 2, size=count))
    part = np.where(rng.random(count) < 0.02, -rng.uniform(0.5, 1.0, size=count), part)
    day = rng.integers(0, DAYS, size=count)
    return _Flow(sender, receiver, _honest_amounts(rng, count), _day_and_part(day, part))


def _honest_amounts(rng: np.random.Generator, count: int) -> FloatArray:
    """Log-normal; of the large ones every tenth is a round sum."""
    amount = np.clip(rng.lognormal(np.log(12_000), 1.9, size=count), 1, 9e8)
    return np.where((rng.random(count) < 0.1) & (amount >= 1e5), amount // 1e5 * 1e5, amount)


def _day_and_part(day: AnyArray, part: FloatArray) -> FloatArray:
    """A time from a day and a part of it; parts below 0 are the night before the opening."""
    opening, length = _OPEN / 86_400, (_CLOSE - _OPEN) / 86_400
    times: FloatArray = day + np.clip(opening + part * length, 0.02, 0.99)
    return times


def _concatenate(a: _Flow, b: _Flow) -> _Flow:
    names = ("sender", "receiver", "amount", "time")
    return _Flow(*(np.concatenate([getattr(a, name), getattr(b, name)]) for name in names))


def _instants(time: FloatArray) -> AnyArray:
    """Calendar instants of business times, to the second."""
    day = np.floor(time).astype(np.int64)
    seconds = np.floor((time - day) * 86_400).astype("timedelta64[s]")
    date = FIRST_DAY + day + 2 * (day // 5)  # the first day is a Monday
    instants: AnyArray = date.astype("datetime64[s]") + seconds
    return instants


def _transfer_table(
    rng: np.random.Generator, world: World, flow: _Flow, instant: AnyArray, ids: IntArray
) -> pa.Table:
    count = len(ids)
    sender_bank, receiver_bank = world.bank_of[flow.sender], world.bank_of[flow.receiver]
    columns = {
        "tran_id": ids,
        "type_code": rng.choice(_TYPES, size=count, p=_TYPE_SHARE),
        "function_code": rng.choice(_FUNCTIONS, size=count, p=_FUNCTION_SHARE),
        "amount": money(flow.amount),
        "ts": pa.array(instant.astype("datetime64[us]"), pa.timestamp("us", tz="UTC")),
        "sbank": world.aba[sender_bank],
        "sacct": world.account[flow.sender],
        "originator": world.holder[flow.sender],
        "scountry": world.country[sender_bank],
        "rbank": world.aba[receiver_bank],
        "racct": world.account[flow.receiver],
        "beneficiary": world.holder[flow.receiver],
        "rcountry": world.country[receiver_bank],
        "purpose": _purposes(rng, count),
    }
    return pa.table(columns)


def _purposes(rng: np.random.Generator, count: int) -> pa.Array:
    """Random purposes; NULL for one transfer in five."""
    return pa.array(rng.choice(_PURPOSES, size=count), mask=rng.random(count) < 0.2)


def _watched(rng: np.random.Generator, world: World, patterns: dict[str, Pattern]) -> pa.Table:
    """The watch list: accounts of planted patterns from the first day on, ordinary ones from a random day."""
    guilty = np.concatenate([patterns["followed"].receiver[:5, 0], patterns["layering"].receiver[:3, 1]])
    ordinary = rng.choice(np.setdiff1d(np.arange(len(world.weight)), guilty), size=32, replace=False)
    since = np.concatenate([np.zeros(len(guilty)), rng.integers(0, DAYS - 5, size=len(ordinary))])
    accounts = np.concatenate([guilty, ordinary])
    return watch_list(world, accounts, _instants(since).astype("datetime64[us]"))
