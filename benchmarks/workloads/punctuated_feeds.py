"""Generated streams of JSON Lines with and without punctuations, and the scripts that read them.

The lines of a stream are generated as columns, tuples and punctuations with their instants, and then sorted.
Punctuations hold: no tuple of a later instant has the punctuated values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.rows.column_arrays import buffer_of

BIDS = 19  # for an item on average: with the item 20 tuples, and one punctuation of each stream


@dataclass(frozen=True)
class StreamSample:
    """A stream: its BIGINT columns, of which `ts` is the last, its tuples and its punctuations."""

    name: str
    columns: tuple[str, ...]
    tuples: tuple[IntArray, ...]
    punctuations: tuple[tuple[str, IntArray, IntArray], ...]  # column, values, instants

    def write(self, folder: str, punctuated: bool) -> None:
        """Write the lines of the stream to a file in a folder."""
        lines = [_objects(self.columns, self.tuples)]
        times = [self.tuples[-1]]
        for column, values, instants in self.punctuations if punctuated else ():
            lines.append(_punctuations(column, values, instants))
            times.append(instants)
        order = np.argsort(np.concatenate(times), kind="stable")  # punctuations after tuples of their instant
        with open(os.path.join(folder, f"{self.name}.jsonl"), "wb") as file:
            for part in np.array_split(order, 1 + len(order) // 1_000_000):
                text = pa.concat_arrays(lines).take(pa.array(part))
                file.write(buffer_of(text, 2)[: text.offset + _length(text)])

    def declaration(self, punctuated: bool, window: int | None = None) -> str:
        """The CREATE STREAM statement."""
        columns = ", ".join(f"{name} BIGINT" for name in self.columns)
        schemes = "".join(f" PUNCTUATED ON ({column})" for column, _, _ in self.punctuations)
        return (
            f"CREATE STREAM {self.name} ({columns}) TIMESTAMP BY ts{schemes if punctuated else ''}"
            f"{f' WINDOW {window}' if window else ''} FROM '{self.name}.jsonl';\n"
        )


@dataclass(frozen=True)
class SafetyWorkload:
    """Streams and a query over them; `windows`, if any, give the same results as the punctuations."""

    feeds: tuple[StreamSample, ...]
    query: str
    windows: tuple[int, ...] = ()
    others: tuple[str, ...] = ()  # more queries over them

    def write(self, folder: str, punctuated: bool, windowed: bool = False) -> str:
        """Write the streams and the script; returns the path of the script."""
        windows: Sequence[int | None] = self.windows if windowed else [None] * len(self.feeds)
        for feed in self.feeds:
            feed.write(folder, punctuated)
        text = [feed.declaration(punctuated, w) for feed, w in zip(self.feeds, windows, strict=True)]
        bounded = punctuated or windowed
        option = "" if bounded else " WITH (unbounded = true)"
        queries = [self.query, *self.others]
        text += [f"CREATE QUERY q{n or ''}{option} AS {query};\n" for n, query in enumerate(queries)]
        path = os.path.join(folder, "script.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(text))
        return path


def auction(bids: int, open_items: int) -> SafetyWorkload:
    """Items and bids: at each instant an item opens, for `open_items` instants, and is punctuated at once.

    One pair in ten is a result; the condition on prices spares the join no work.
    """
    draw = np.random.default_rng(1)
    items = np.arange(bids // BIDS)
    at = np.repeat(items, BIDS)
    of = np.maximum(at - draw.integers(0, open_items, len(at)), 0)
    last = items[open_items - 1 :]
    item = StreamSample(
        "item",
        ("id", "reserve", "ts"),
        (items, draw.integers(0, 1_000, len(items)), items),
        (("id", items, items),),
    )
    price = draw.integers(0, 1_000, len(at))
    bid = StreamSample("bid", ("id", "price", "ts"), (of, price, at), (("id", last - open_items + 1, last),))
    return SafetyWorkload(
        (item, bid),
        "SELECT item.id, price FROM item, bid WHERE item.id = bid.id AND price >= reserve + 553",
        (open_items, 1),
    )


def bid_lines(bids: int, punctuated: bool) -> int:
    """The number of lines that hold so many bids, so that micro-batches can have equally many tuples.

    >>> bid_lines(190, True), bid_lines(190, False)
    (200, 190)
    """
    return bids + bids // BIDS if punctuated else bids


def linked(width: int, keys: int, life: int, cycle: bool = False, many: int = 1) -> SafetyWorkload:
    """A chain of streams, or a cycle: each stream has a row (a, b) for every key a; b is a or a key near it.

    The second stream may have `many` rows of each key. A key is used by all streams for `life` instants,
    and then each stream punctuates it, in a and in b.
    """
    draw = np.random.default_rng(width)
    feeds = tuple(_linked(draw, n, keys, life, many if n == 1 else 1) for n in range(width))
    links = [(i, (i + 1) % width) for i in range(width if cycle else width - 1)]
    return SafetyWorkload(feeds, _joined_by(links))


def shared(queries: int, keys: int, life: int) -> SafetyWorkload:
    """Queries over chains of three streams that have the first two streams in common."""
    draw = np.random.default_rng(queries)
    feeds = tuple(_linked(draw, n, keys, life, 1) for n in range(queries + 2))
    texts = [_joined_by([(0, 1), (1, n)]) for n in range(2, queries + 2)]
    return SafetyWorkload(feeds, texts[0], others=tuple(texts[1:]))


def _linked(draw: np.random.Generator, number: int, keys: int, life: int, many: int) -> StreamSample:
    known = np.arange(keys)
    a = np.repeat(known, many)
    near = a + draw.integers(-(life // 4), life // 4 + 1, len(a))
    b = np.where(draw.random(len(a)) < 0.5, a, np.clip(near, 0, keys - 1))
    ts = a + draw.integers(0, life // 2, len(a))
    order = np.argsort(ts, kind="stable")
    punctuations = tuple((column, known, known + life) for column in ("a", "b"))
    return StreamSample(f"s{number}", ("a", "b", "ts"), (a[order], b[order], ts[order]), punctuations)


def _joined_by(links: Sequence[tuple[int, int]]) -> str:
    where = " AND ".join(f"s{i}.b = s{j}.a" for i, j in links)
    names = ", ".join(f"s{number}" for number in sorted({n for link in links for n in link}))
    return " ".join([f"SELECT s{links[0][0]}.a FROM", names, "WHERE", where])


def _objects(names: Sequence[str], columns: Sequence[IntArray]) -> pa.Array:
    parts: list[pa.Array | str] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [f'{"{" if not number else ", "}"{name}": ', pa.array(column).cast(pa.large_string())]
    return _joined([*parts, "}\n"])


def _punctuations(column: str, values: IntArray, instants: IntArray) -> pa.Array:
    value, ts = (pa.array(numbers).cast(pa.large_string()) for numbers in (values, instants))
    return _joined([f'{{"@punctuate": {{"{column}": ', value, '}, "ts": ', ts, "}\n"])


def _joined(parts: Sequence[pa.Array | str]) -> pa.Array:
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))


def _length(text: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(text)).as_py())
