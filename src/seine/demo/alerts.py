"""The demonstration of `make demo`: a script of 29 alerts and the generated transfers that it reads.

Generated FedWire-like money transfers: skewed accounts, log-normal amounts, business hours, planted crime.

The attributes are those of a funds transfer message. The amounts, the bursts before the close and the few
accounts with most of the traffic make selections and joins as skewed as real ones.

Cites: ARGUS 7.1 (the synthesized FedWire database)

Amounts of money as Arrow decimals.

Generated suspicious patterns to plant among honest transfers, each an array of instances by transfers.

Times count in business days (a fraction is the time of day), so that a pattern survives weekends.

Generated banks, accounts and watch list: what transfers move between.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, FloatArray, IntArray
from seine.demo.json_lines import write_json_lines

DESCRIPTIONS = {
    "large": "transfers above 1,000,000",
    "very_large": "transfers above 5,000,000",
    "round_sum": "round sums of at least 500,000",
    "just_below": "transfers just below the 10,000 that must be reported",
    "at_night": "transfers above 100,000 outside business hours",
    "to_haven": "transfers above 250,000 into a tax haven",
    "unexplained": "customer transfers above 400,000 for consulting or for no given reason",
    "watched_sender": "transfers from accounts while they are watched",
    "watched_receiver": "transfers to accounts while they are watched",
    "risky_bank": "transfers above 1,000,000 to a risky bank",
    "risky_corridor": "transfers above 1,000,000 from a safer bank to a risky one",
    "passed_on": "1,000,000 arrives and more than half of it leaves within 20 days",
    "passed_on_soon": "the same within 10 days",
    "passed_to_haven": "500,000 arrives and more than half of it leaves for a tax haven",
    "pass_through": "nearly all of what arrived leaves within 5 days",
    "round_trip": "money that returns to its sender",
    "watched_passed_on": "a watched account passes money on",
    "split_in_two": "money that leaves again in two parts",
    "three_hops": "nearly the same money moves on twice, each time within 5 days",
    "four_hops": "nearly the same money moves on three times",
    "circle": "money that returns to its sender by way of two others",
    "smurfing": "accounts that collect eight or more transfers just below 10,000",
    "smurfing_crowd": "the same, from eight or more different senders",
    "busy_banks": "banks that send three or more transfers above 2,000,000",
    "haven_flow": "what flows into each tax haven",
    "collected_and_sent": "an account that collected small transfers sends a large one",
    "suspects": "accounts that send to a tax haven, or are watched and send",
    "parked": "accounts that receive above 2,000,000 and send nothing large",
    "corridors": "pairs of countries between which more than 3,000,000 moved at once",
}
DAYS = 60  # business days
FIRST_DAY = np.datetime64("2026-01-05")
_OPEN, _CLOSE = 13 * 3600, 23.5 * 3600  # seconds of the day in UTC
_FUNCTIONS = ("CTR", "CTP", "BTR", "FFS", "DRW", "SVC")  # customer, customer plus, bank, fed funds, ...
_FUNCTION_SHARE = (0.62, 0.12, 0.14, 0.05, 0.04, 0.03)
_TYPES = ("1000", "1002", "1500", "1600")
_TYPE_SHARE = (0.86, 0.02, 0.02, 0.10)
_PURPOSES = ("invoice", "payroll", "loan", "rent", "securities", "consulting", "real estate")


def write_demo(folder: str | Path, *, transfers: int = 40_000, seed: int = 7) -> Path:
    """Write the generated data and the script into a folder; returns the path of the script."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = make_fedwire(transfers, seed=seed)
    write_json_lines(made.transfers, folder / "transfers.jsonl")
    write_json_lines(made.banks, folder / "banks.jsonl")
    write_json_lines(made.watch_list, folder / "watchlist.jsonl")
    script = folder / "alerts.sql"
    script.write_text(
        files("seine.demo").joinpath("alerts.sql").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return script


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


def money(amount: AnyArray) -> pa.Array:
    """DECIMAL(14,2) of amounts that are not negative: cents in the low half of 128 bits.

    >>> money(np.array([0.1, 12.345])).to_pylist()
    [Decimal('0.10'), Decimal('12.34')]
    """
    words = np.zeros((len(amount), 2), dtype="<i8")
    words[:, 0] = np.round(amount * 100)
    return pa.Array.from_buffers(pa.decimal128(14, 2), len(amount), [None, pa.py_buffer(words.tobytes())])


@dataclass(frozen=True)
class Pattern:
    """Sender, receiver, amount and time of transfers: a row for each instance, a column for each transfer."""

    sender: IntArray
    receiver: IntArray
    amount: FloatArray
    time: FloatArray


def plant(rng: np.random.Generator, world: World, days: int) -> dict[str, Pattern]:
    """The patterns by name; every instance ends within `days` business days.

    >>> rng = np.random.default_rng(0)
    >>> {name: p.amount.shape for name, p in plant(rng, make_world(rng), 60).items()}["layering"]
    (8, 4)
    """
    return {
        "followed": _chain(
            rng, world, days, instances=15, hops=2, first=(1.05e6, 5e6), keep=(0.55, 0.95), gap=(1, 12)
        ),
        "layering": _chain(
            rng, world, days, instances=8, hops=4, first=(8e5, 3e6), keep=(0.9, 0.98), gap=(0.2, 2)
        ),
        "round_trip": _loop(rng, world, days, instances=6, hops=2),
        "circle": _loop(rng, world, days, instances=5, hops=3),
        "split": _split(rng, world, days, instances=5),
        "smurfing": _smurfing(rng, world, days, instances=6, senders=12),
    }


def _accounts(rng: np.random.Generator, world: World, instances: int, each: int) -> IntArray:
    return rng.choice(world.quiet, size=(instances, each), replace=False)


def _times(rng: np.random.Generator, days: int, gaps: FloatArray) -> FloatArray:
    """A start for each instance and the transfers after it, so that the last is within the days."""
    passed = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    start = rng.uniform(0, 1, size=(len(gaps), 1)) * (days - 1 - passed[:, -1:])
    times: FloatArray = start + passed
    return times


def _amounts(
    rng: np.random.Generator, instances: int, hops: int, first: tuple[float, float], keep: tuple[float, float]
) -> FloatArray:
    """A first amount of which each hop keeps a share."""
    shares = np.concatenate([np.ones((instances, 1)), rng.uniform(*keep, size=(instances, hops - 1))], axis=1)
    return rng.uniform(*first, size=(instances, 1)) * np.cumprod(shares, axis=1)


def _chain(
    rng: np.random.Generator,
    world: World,
    days: int,
    *,
    instances: int,
    hops: int,
    first: tuple[float, float],
    keep: tuple[float, float],
    gap: tuple[float, float],
) -> Pattern:
    """Money that is passed on: A to B, B to C, ..."""
    accounts = _accounts(rng, world, instances, hops + 1)
    times = _times(rng, days, rng.uniform(*gap, size=(instances, hops - 1)))
    return Pattern(accounts[:, :-1], accounts[:, 1:], _amounts(rng, instances, hops, first, keep), times)


def _loop(rng: np.random.Generator, world: World, days: int, *, instances: int, hops: int) -> Pattern:
    """Money that comes back to where it started."""
    accounts = _accounts(rng, world, instances, hops)
    times = _times(rng, days, rng.uniform(0.5, 3, size=(instances, hops - 1)))
    amounts = _amounts(rng, instances, hops, (5e5, 2e6), (0.85, 0.98))
    return Pattern(accounts, np.roll(accounts, -1, axis=1), amounts, times)


def _split(rng: np.random.Generator, world: World, days: int, *, instances: int) -> Pattern:
    """A large transfer that leaves again in two halves."""
    source, middle, one, other = _accounts(rng, world, instances, 4).T
    times = _times(rng, days, rng.uniform(0.3, 2, size=(instances, 2)))
    amounts = rng.uniform(7e5, 2e6, size=(instances, 1)) * np.array([[1, 0.46, 0.49]])
    sender = np.stack([source, middle, middle], axis=1)
    return Pattern(sender, np.stack([middle, one, other], axis=1), amounts, times)


def _smurfing(rng: np.random.Generator, world: World, days: int, *, instances: int, senders: int) -> Pattern:
    """Many small transfers, each just below 10,000, collected and sent abroad."""
    crowd = _accounts(rng, world, instances, senders)
    collector = rng.choice(np.setdiff1d(world.quiet, crowd), size=(instances, 1), replace=False)
    exit_ = rng.choice(np.setdiff1d(world.in_havens, np.union1d(crowd, collector)), size=(instances, 1))
    small = rng.uniform(9_000, 9_990, size=(instances, senders))
    times = _times(rng, days, rng.uniform(0.05, 0.8, size=(instances, senders)))
    return Pattern(
        sender=np.concatenate([crowd, collector], axis=1),
        receiver=np.concatenate([np.repeat(collector, senders, axis=1), exit_], axis=1),
        amount=np.concatenate([small, 0.93 * small.sum(axis=1, keepdims=True)], axis=1),
        time=times,
    )


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
