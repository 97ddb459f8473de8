"""Generated money transfers: skewed accounts, log-normal amounts, business hours, planted chains.

They span `SPAN_DAYS` days whatever their number, so that a window holds the same share of the stream; the
number of accounts grows with the transfers, so that an account has the same traffic. Planted patterns are
rare.

Cites: ARGUS 7.1 (500,006 FedWire transfers, the first 300,000 as history)
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.workloads.batch_files import write_batches
from seine.algebra.arrays import AnyArray, BoolArray, FloatArray, IntArray
from seine.demo.alerts import money

TRANSFERS = 500_006
HISTORY = 300_000
SPAN_DAYS = 120
FIRST_DAY = np.datetime64("2026-01-05")
BANKS = 200
HAVENS = ("KY", "PA", "VG", "CY")
COUNTRIES = ("US", "GB", "DE", "CH", "SG", *HAVENS)
TYPES = ("1000", "1002", "1500", "1600")
FUNCTIONS = ("CTR", "CTP", "BTR", "FFS", "DRW", "SVC")
PURPOSES = ("invoice", "payroll", "loan", "rent", "securities", "consulting", "real estate")
ACCOUNT_LOW, ACCOUNT_HIGH = 1_000_000_000, 10_000_000_000  # account numbers are spread evenly between
HOPS = (2, 3, 4, 5)
_COUNTRY_SHARE = (0.70, 0.07, 0.05, 0.05, 0.04, 0.03, 0.02, 0.02, 0.02)
_TYPE_SHARE = (0.86, 0.02, 0.02, 0.10)
_FUNCTION_SHARE = (0.62, 0.12, 0.14, 0.05, 0.04, 0.03)
_OPEN, _CLOSE = 13 / 24, 23.5 / 24  # of a day, in UTC
_MOST_DISORDER_SECONDS = 60
_TRANSFERS_AN_ACCOUNT = 10
_CROWD = 24  # senders of small amounts to one collector
_TIME = pa.timestamp("us", tz="UTC")

DECLARATION = """\
CREATE STREAM transfer (
    tran_id BIGINT, type_code STRING, function_code STRING, amount DECIMAL(14,2),
    ts TIMESTAMP, tran_date DATE,
    sbank INT, sacct BIGINT, scountry STRING,
    rbank INT, racct BIGINT, rcountry STRING, purpose STRING)
  TIMESTAMP BY ts WINDOW INTERVAL '20' DAY LATENESS INTERVAL '5' MINUTE
  FROM '{folder}/transfer' FORMAT PARQUET;
"""


@dataclass(frozen=True)
class Flow:
    """Transfers as columns: accounts by number, the amount, and the time in days since the first."""

    sender: IntArray
    receiver: IntArray
    amount: FloatArray
    time: FloatArray


@dataclass(frozen=True)
class TransferWorld:
    """Accounts and the banks they are at; a weight is a share of the traffic."""

    number: IntArray
    bank: IntArray
    sends: FloatArray
    receives: FloatArray
    country: AnyArray  # of a bank

    @property
    def quiet(self) -> IntArray:
        """Accounts with little ordinary traffic, where planted patterns stay recognisable."""
        return np.argsort(self.sends + self.receives)[: len(self.sends) // 2]


def make_transfers(count: int = TRANSFERS, seed: int = 7) -> pa.Table:
    """The transfers in order of arrival; the same for the same arguments.

    >>> table = make_transfers(2_000, seed=1)
    >>> table.num_rows, table["tran_id"][0].as_py()
    (2000, 1)
    """
    random = np.random.default_rng(seed)
    world = _world(random, count)
    planted = _planted(random, world, count)
    if count <= len(planted.time):
        raise ValueError(f"what is planted alone is {len(planted.time)} transfers")
    flow = _stacked([planted, _honest(random, world, count - len(planted.time))])
    instant = FIRST_DAY.astype("datetime64[us]") + (flow.time * 86_400).astype("timedelta64[s]")
    late = random.integers(0, _MOST_DISORDER_SECONDS, count).astype("timedelta64[s]")
    order = np.argsort(instant + late, kind="stable")
    return _table(random, world, _taken(flow, order), instant[order])


def write_transfers(folder: str, table: pa.Table, batch_rows: int) -> None:
    """One Parquet file a micro-batch, in the folder `transfer`."""
    write_batches(os.path.join(folder, "transfer"), table, batch_rows)


def _world(random: np.random.Generator, count: int) -> TransferWorld:
    accounts = max(500, count // _TRANSFERS_AN_ACCOUNT)
    country = random.choice(COUNTRIES, size=BANKS, p=_COUNTRY_SHARE)
    country[: len(COUNTRIES)] = COUNTRIES
    return TransferWorld(
        number=random.permutation(np.linspace(ACCOUNT_LOW, ACCOUNT_HIGH - 1, accounts).astype(np.int64)),
        bank=random.choice(BANKS, size=accounts, p=_zipf(random, BANKS)),
        sends=_zipf(random, accounts),
        receives=_zipf(random, accounts),
        country=country,
    )


def _zipf(random: np.random.Generator, count: int) -> FloatArray:
    weight: FloatArray = 1 / (random.permutation(count) + 12) ** 0.9
    shares: FloatArray = weight / weight.sum()
    return shares


def _honest(random: np.random.Generator, world: TransferWorld, count: int) -> Flow:
    """Half the traffic all day long, half in the rush before the close; one in fifty at night."""
    accounts = len(world.number)
    sender = random.choice(accounts, size=count, p=world.sends)
    receiver = random.choice(accounts, size=count, p=world.receives)
    part = np.where(random.random(count) < 0.5, random.random(count), random.beta(6, 2, count))
    hour = np.where(random.random(count) < 0.02, random.uniform(0.02, _OPEN, count), _of_day(part))
    return Flow(
        sender,
        np.where(receiver == sender, (receiver + 1) % accounts, receiver),
        _honest_amounts(random, count),
        (random.integers(0, SPAN_DAYS, count) + hour).astype(np.float64),
    )


def _of_day(part: FloatArray) -> FloatArray:
    return _OPEN + part * (_CLOSE - _OPEN)


def _honest_amounts(random: np.random.Generator, count: int) -> FloatArray:
    """Log-normal; of the large ones every tenth is a round sum."""
    amount = np.clip(random.lognormal(np.log(12_000), 1.9, count), 1, 9e8)
    return np.where((random.random(count) < 0.1) & (amount >= 1e5), amount // 1e5 * 1e5, amount)


def _planted(random: np.random.Generator, world: TransferWorld, count: int) -> Flow:
    """Chains and loops of every length, splits, and crowds: a few transfers in ten thousand."""
    few = max(1, count // 80_000)
    fewer = max(1, few // 2)
    flows = [_chains(random, world, few, hops) for hops in HOPS]
    flows += [_loops(random, world, fewer, hops) for hops in HOPS]
    return _stacked([*flows, _splits(random, world, few), _crowds(random, world, max(1, few // 16))])


def _chains(random: np.random.Generator, world: TransferWorld, instances: int, hops: int) -> Flow:
    """Money that is passed on, nearly whole: A to B, B to C, ..."""
    accounts = _quiet(random, world, instances, hops + 1)
    return _flow(accounts[:, :-1], accounts[:, 1:], *_passed_on(random, instances, hops))


def _loops(random: np.random.Generator, world: TransferWorld, instances: int, hops: int) -> Flow:
    """Money that comes back to where it started."""
    accounts = _quiet(random, world, instances, hops)
    return _flow(accounts, np.roll(accounts, -1, axis=1), *_passed_on(random, instances, hops))


def _splits(random: np.random.Generator, world: TransferWorld, instances: int) -> Flow:
    """A large transfer that leaves again in two halves."""
    source, middle, one, other = _quiet(random, world, instances, 4).T
    amount = random.uniform(1e6, 4e6, (instances, 1)) * np.array([[1, 0.46, 0.49]])
    times = _times(random, random.uniform(0.1, 1.5, (instances, 2)))
    sender = np.stack([source, middle, middle], axis=1)
    return _flow(sender, np.stack([middle, one, other], axis=1), amount, times)


def _crowds(random: np.random.Generator, world: TransferWorld, instances: int) -> Flow:
    """Many transfers just below 10,000, collected and sent on."""
    accounts = _quiet(random, world, instances, _CROWD + 2)
    crowd, collector, exit_ = accounts[:, :_CROWD], accounts[:, -2:-1], accounts[:, -1:]
    small = random.uniform(9_000, 9_990, (instances, _CROWD))
    return _flow(
        np.concatenate([crowd, collector], axis=1),
        np.concatenate([np.repeat(collector, _CROWD, axis=1), exit_], axis=1),
        np.concatenate([small, 0.93 * small.sum(axis=1, keepdims=True)], axis=1),
        _times(random, random.uniform(0.02, 0.4, (instances, _CROWD))),
    )


def _quiet(random: np.random.Generator, world: TransferWorld, instances: int, each: int) -> IntArray:
    return random.choice(world.quiet, size=(instances, each), replace=False)


def _passed_on(random: np.random.Generator, instances: int, hops: int) -> tuple[FloatArray, FloatArray]:
    """Amounts of which each hop keeps nearly all, and the times of the hops."""
    keep = random.uniform(0.9, 0.99, (instances, hops))
    keep[:, 0] = random.uniform(1e6, 4e6, instances)
    amounts: FloatArray = np.cumprod(keep, axis=1, dtype=np.float64)
    return amounts, _times(random, random.uniform(0.1, 2.5, (instances, hops - 1)))


def _times(random: np.random.Generator, gaps: FloatArray) -> FloatArray:
    """A start for each instance and what follows, so that all of it is within the span."""
    passed = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    times: FloatArray = random.uniform(0, 1, (len(gaps), 1)) * (SPAN_DAYS - passed[:, -1:]) + passed
    return times


def _flow(sender: IntArray, receiver: IntArray, amount: FloatArray, time: FloatArray) -> Flow:
    return Flow(sender.ravel(), receiver.ravel(), amount.ravel(), time.ravel())


def _columns(flow: Flow) -> tuple[AnyArray, ...]:
    return flow.sender, flow.receiver, flow.amount, flow.time


def _stacked(flows: list[Flow]) -> Flow:
    columns: list[AnyArray] = [np.concatenate(parts) for parts in zip(*map(_columns, flows), strict=True)]
    return Flow(*columns)


def _taken(flow: Flow, order: IntArray) -> Flow:
    return Flow(*(column[order] for column in _columns(flow)))


def _table(random: np.random.Generator, world: TransferWorld, flow: Flow, instant: AnyArray) -> pa.Table:
    count = len(instant)
    sbank, rbank = world.bank[flow.sender], world.bank[flow.receiver]
    columns = {
        "tran_id": np.arange(1, count + 1),
        "type_code": _words(TYPES, random.choice(len(TYPES), count, p=_TYPE_SHARE)),
        "function_code": _words(FUNCTIONS, random.choice(len(FUNCTIONS), count, p=_FUNCTION_SHARE)),
        "amount": money(flow.amount),
        "ts": pa.array(instant, _TIME),
        "tran_date": pa.array(instant.astype("datetime64[D]"), pa.date32()),
        "sbank": sbank.astype(np.int32),
        "sacct": world.number[flow.sender],
        "scountry": _words(COUNTRIES, _codes(world.country)[sbank]),
        "rbank": rbank.astype(np.int32),
        "racct": world.number[flow.receiver],
        "rcountry": _words(COUNTRIES, _codes(world.country)[rbank]),
        "purpose": _words(PURPOSES, random.integers(0, len(PURPOSES), count), random.random(count) < 0.2),
    }
    return pa.table(columns)


def _codes(country: AnyArray) -> IntArray:
    codes: IntArray = np.argmax(country[:, None] == np.array(COUNTRIES), axis=1)
    return codes


def _words(words: tuple[str, ...], codes: IntArray, missing: BoolArray | None = None) -> pa.Array:
    """Strings from their numbers; NULL where they are missing."""
    return pa.array(words).take(pa.array(codes, mask=missing))
