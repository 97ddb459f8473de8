"""Nexmark's events, made up: persons, auctions and bids as three tables in the order of their times.

2% of the events are persons, 6% auctions, 92% bids. Half of the bids go to a hot auction, three in four
come from a hot bidder, and three in four auctions are a hot seller's; prices are 100 * 10 ** (6 u) for an
even u in [0, 1). The same seed makes the same events.

The numbers of Nexmark's events: of each 50 the first is a person, 3 are auctions, the others are bids.

What an event may refer to follows from its number: the last person and the last auction before it, counted
from 0.

The words of Nexmark's events: names, cities, channels, and random text, all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.demo.json_lines import write_json_lines

FIRST_ID = 1_000  # of persons and of auctions
_FIRST_CATEGORY, _CATEGORIES = 10, 5
BEGIN = 1_784_073_580_000  # milliseconds: 2026-07-14 23:59:40 UTC, so that a day ends soon
_ACTIVE_PERSONS, _OPEN_AUCTIONS = 1_000, 100
_LEAD = 10  # so many persons and auctions that are still to come may be meant
_HOT = 100  # one of so many persons or auctions is the hot one
_EXTRA = {"person": 60, "auction": 200, "bid": 30}  # letters that make a record as large as Nexmark's
QUERIES = tuple(f"q{number}" for number in range(23))
SIDE_ROWS = 10_000  # keys of the side input


@dataclass(frozen=True)
class Nexmark:
    """The three streams, each a table in the order of `date_time`."""

    person: pa.Table
    auction: pa.Table
    bid: pa.Table

    def tables(self) -> dict[str, pa.Table]:
        """The tables by their names."""
        return {"person": self.person, "auction": self.auction, "bid": self.bid}


def make_nexmark(events: int, *, seed: int = 1, rate: int = 1_000, bids: bool = True) -> Nexmark:
    """That many events, `rate` of them in a second of event time; perhaps all but the bids.

    >>> made = make_nexmark(1_000)
    >>> made.person.num_rows, made.auction.num_rows, made.bid.num_rows
    (20, 60, 920)
    """
    random = np.random.default_rng(seed)
    return Nexmark(
        _persons(random, person_numbers(events), rate),
        _auctions(random, auction_numbers(events), rate),
        _bids(random, bid_numbers(events if bids else 0), rate),
    )


def _persons(random: np.random.Generator, numbers: IntArray, rate: int) -> pa.Table:
    rows = len(numbers)
    cards = random.integers(0, 10_000, (4, rows))
    return pa.table(
        {
            "id": FIRST_ID + last_person(numbers),
            "name": joined(pick(random, FIRST_NAMES, rows), pick(random, LAST_NAMES, rows), between=" "),
            "email_address": joined(text(random, rows, 7), "@", text(random, rows, 5), ".com"),
            "credit_card": joined(*[_four_digits(card) for card in cards], between=" "),
            "city": pick(random, CITIES, rows),
            "state": pick(random, STATES, rows),
            "date_time": _times(numbers, rate),
            "extra": text(random, rows, _EXTRA["person"]),
        }
    )


def _auctions(random: np.random.Generator, numbers: IntArray, rate: int) -> pa.Table:
    rows = len(numbers)
    first = _prices(random, rows)
    hot = (last_person(numbers) // _HOT) * _HOT
    times = _times(numbers, rate)
    return pa.table(
        {
            "id": FIRST_ID + last_auction(numbers),
            "item_name": text(random, rows, 20),
            "description": text(random, rows, 100),
            "initial_bid": first,
            "reserve": first + _prices(random, rows),
            "date_time": times,
            "expires": _ends(random, times, rate),
            "seller": FIRST_ID + _hot_or_any(random, hot, 0.75, _any_person(random, numbers)),
            "category": _FIRST_CATEGORY + random.integers(0, _CATEGORIES, rows),
            "extra": text(random, rows, _EXTRA["auction"]),
        }
    )


def _bids(random: np.random.Generator, numbers: IntArray, rate: int) -> pa.Table:
    rows = len(numbers)
    hot_auction = (last_auction(numbers) // _HOT) * _HOT
    hot_bidder = (last_person(numbers) // _HOT) * _HOT + 1
    channel, url = channels(random, rows)
    return pa.table(
        {
            "auction": FIRST_ID + _hot_or_any(random, hot_auction, 0.5, _any_auction(random, numbers)),
            "bidder": FIRST_ID + _hot_or_any(random, hot_bidder, 0.75, _any_person(random, numbers)),
            "price": _prices(random, rows),
            "channel": channel,
            "url": url,
            "date_time": _times(numbers, rate),
            "extra": text(random, rows, _EXTRA["bid"]),
        }
    )


def _times(numbers: IntArray, rate: int) -> pa.Array:
    return pa.array(BEGIN + numbers * 1_000 // rate, pa.timestamp("ms"))


def _ends(random: np.random.Generator, times: pa.Array, rate: int) -> pa.Array:
    """When auctions expire: on average when as many others have begun as are open at once."""
    horizon = _OPEN_AUCTIONS * PERIOD * 1_000 // (AUCTIONS * rate)
    lengths = 1 + random.integers(0, max(2 * horizon, 1), len(times))
    return pa.array(times.cast(pa.int64()).to_numpy() + lengths, pa.timestamp("ms"))


def _prices(random: np.random.Generator, rows: int) -> IntArray:
    return np.round(100 * 10 ** (6 * random.random(rows))).astype(np.int64)


def _hot_or_any(random: np.random.Generator, hot: IntArray, share: float, other: IntArray) -> IntArray:
    return np.where(random.random(len(hot)) < share, hot, other)


def _any_person(random: np.random.Generator, numbers: IntArray) -> IntArray:
    """One of the last persons, or one of the next few."""
    persons = last_person(numbers) + 1
    active = np.minimum(persons, _ACTIVE_PERSONS)
    return persons - active + random.integers(0, active + _LEAD)


def _any_auction(random: np.random.Generator, numbers: IntArray) -> IntArray:
    """One of the auctions that are open, or one of the next few."""
    last = last_auction(numbers)
    first = np.maximum(last - _OPEN_AUCTIONS, 0)
    return first + random.integers(0, last - first + 1 + _LEAD)


def _four_digits(numbers: IntArray) -> pa.Array:
    return pa.array(np.char.zfill(numbers.astype("U4"), 4))


PERSONS, AUCTIONS, BIDS = 1, 3, 46  # of each 50 events
PERIOD = PERSONS + AUCTIONS + BIDS


def person_numbers(events: int) -> IntArray:
    """The numbers of those of the first `events` events that are persons.

    >>> person_numbers(120).tolist()
    [0, 50, 100]
    """
    return np.arange(0, events, PERIOD, dtype=np.int64)


def auction_numbers(events: int) -> IntArray:
    """The numbers of the auctions among them.

    >>> auction_numbers(60).tolist()
    [1, 2, 3, 51, 52, 53]
    """
    numbers = np.arange(events, dtype=np.int64)
    place = numbers % PERIOD
    return numbers[(place >= PERSONS) & (place < PERSONS + AUCTIONS)]


def bid_numbers(events: int) -> IntArray:
    """The numbers of the bids among them.

    >>> bid_numbers(56).tolist()[-3:]
    [49, 54, 55]
    """
    numbers = np.arange(events, dtype=np.int64)
    return numbers[numbers % PERIOD >= PERSONS + AUCTIONS]


def last_person(numbers: IntArray) -> IntArray:
    """The last person that comes no later than each of these events, counted from 0.

    >>> last_person(np.array([0, 49, 50])).tolist()
    [0, 0, 1]
    """
    return numbers // PERIOD


def last_auction(numbers: IntArray) -> IntArray:
    """The last auction that comes no later than each of these events, counted from 0; of none it is -1.

    >>> last_auction(np.array([0, 1, 3, 49, 50, 51])).tolist()
    [-1, 0, 2, 2, 2, 3]
    """
    period, place = np.divmod(numbers, PERIOD)
    last: IntArray = period * AUCTIONS + np.clip(place - PERSONS, -1, AUCTIONS - 1)
    return last


FIRST_NAMES = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky"),
    *("Kate", "Julie", "Sarah", "Deiter", "Walter"),
)
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_OTHER_CHANNELS = 10_000
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)


def pick(random: np.random.Generator, words: tuple[str, ...], rows: int) -> pa.Array:
    """One of the words for each row, all equally likely."""
    return pa.array(words).take(pa.array(random.integers(0, len(words), rows)))


def text(random: np.random.Generator, rows: int, length: int) -> pa.Array:
    """Random small letters, `length` in each row.

    >>> text(np.random.default_rng(1), 2, 3).to_pylist()
    ['zxd', 'myt']
    """
    letters = _LETTERS[random.integers(0, len(_LETTERS), rows * length, dtype=np.uint8)]
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def joined(*pieces: pa.Array | str, between: str = "") -> pa.Array:
    """The pieces of each row, put together.

    >>> joined(pa.array(["a", "b"]), "x", between="-").to_pylist()
    ['a-x', 'b-x']
    """
    return pc.binary_join_element_wise(*pieces, between)


def channels(random: np.random.Generator, rows: int) -> tuple[pa.Array, pa.Array]:
    """A channel and a url for each row: half of them of the four hot ones, the others of 10,000 more.

    A url has three folders. Of the other channels nine in ten have a `channel_id` in theirs.
    """
    count = len(HOT_CHANNELS) + _OTHER_CHANNELS
    folders = joined(*[text(random, count, 5) for _ in range(3)], between="/")
    numbers = pa.array(random.permutation(2**31 - 1 - np.arange(_OTHER_CHANNELS))).cast(pa.string())
    marks = pc.if_else(pa.array(random.random(_OTHER_CHANNELS) < 0.9), joined("&channel_id=", numbers), "")
    urls = joined(
        "https://www.nexmark.com/",
        folders,
        "/item.htm?query=1",
        pa.concat_arrays([pa.array([""] * len(HOT_CHANNELS)), marks]),
    )
    names = pa.array([*HOT_CHANNELS, *(f"channel-{number}" for number in range(_OTHER_CHANNELS))])
    chosen = pa.array(_channel_numbers(random, rows))
    return names.take(chosen), urls.take(chosen)


def _channel_numbers(random: np.random.Generator, rows: int) -> IntArray:
    hot = random.integers(0, len(HOT_CHANNELS), rows)
    other = len(HOT_CHANNELS) + random.integers(0, _OTHER_CHANNELS, rows)
    return np.where(random.random(rows) < 0.5, hot, other)


def declarations() -> str:
    """The statements that declare the three streams and the side input."""
    return _text("streams")


def query_text(name: str) -> str:
    """The statement of a query, with the line that says what it is for.

    >>> print(query_text("q2"))
    -- Selection: bids for some auctions.
    CREATE QUERY q2 AS
      SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
    <BLANKLINE>
    """
    return _text(name)


def meaning(name: str) -> str:
    """What a query is for, in a line.

    >>> meaning("q2")
    'Selection: bids for some auctions.'
    """
    return query_text(name).split("\n", 1)[0].removeprefix("-- ")


def write_nexmark(folder: str | Path, events: Nexmark, queries: Sequence[str] = QUERIES) -> Path:
    """Write events and a script of these queries; returns the path of the script.

    Each stream is a folder with one file.
    """
    folder = Path(folder)
    for name, table in events.tables().items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        write_json_lines(table, folder / name / f"{name}.jsonl")
    write_json_lines(side_input(), folder / "side_input.jsonl")
    script = folder / "nexmark.sql"
    script.write_text("\n".join([declarations(), *map(query_text, queries)]), encoding="utf-8")
    return script


def side_input() -> pa.Table:
    """The relation of q13: a value for each key.

    >>> side_input().slice(7, 1).to_pylist()
    [{'key': 7, 'value': 'value-7'}]
    """
    keys = pa.array(np.arange(SIDE_ROWS))
    return pa.table({"key": keys, "value": pc.binary_join_element_wise("value-", keys.cast(pa.string()), "")})


def _text(name: str) -> str:
    return files("seine.demo.nexmark").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")
