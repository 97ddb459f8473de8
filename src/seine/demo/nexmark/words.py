"""The words of Nexmark's events: names, cities, channels, and random text, all rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray

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
