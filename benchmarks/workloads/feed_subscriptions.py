"""Feed items as XML texts, and subscriptions to them that few items satisfy, at equally many results.

A subscriber wants to hear when something of one channel is posted again by another, within a window: the same
title, the same description, or both. Channels are drawn evenly. An item in ten is posted again; whoever posts
it, there are `SUBSCRIBERS` queries for that pair of channels, however many queries there are: the number of
channels grows with the root of their number. So about two records leave for each item.

Queries differ in paths, where a channel has a root element of its own, or in constants:

    paths       S/c7[title->x] FOLLOWED BY{x = y, 2000} S/c9[title->y]
    constants   S/item[channel = 'c7'][title->x] FOLLOWED BY{x = y, 2000} S/item[channel = 'c9'][title->y]
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np

WINDOW = 2_000  # items
SUBSCRIBERS = 20  # queries for each pair of channels
REPOST_EVERY = 10  # items, of which one was posted before
_FARTHEST_REPOST = 100  # such rounds between an item and the same posted again
_JOINED = (("title",), ("description",), ("title", "description"))
DECLARATION = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW {window} FROM '{folder}/feed.jsonl';
"""
FORMS = ("paths", "constants")


def channels_of(queries: int) -> int:
    """How many channels there are for so many queries.

    >>> [channels_of(count) for count in (20, 10_000, 100_000, 1_000_000)]
    [1, 22, 71, 224]
    """
    return max(1, round(math.sqrt(queries / SUBSCRIBERS)))


def subscriptions(queries: int, form: str = "paths", seed: int = 1) -> Iterator[str]:
    """The texts of so many queries.

    >>> next(subscriptions(1_000))
    'S/c3[title->a] FOLLOWED BY{a = x, 2000} S/c3[title->x]'
    """
    draw = np.random.default_rng(seed)
    channels = channels_of(queries)
    for number, (left, right) in enumerate(draw.integers(0, channels, (queries, 2)).tolist()):
        leaves = _JOINED[number % len(_JOINED)]
        pairs = list(zip("ab", "xy", leaves, strict=False))
        equal = " AND ".join(f"{one} = {other}" for one, other, _ in pairs)
        first = "".join(f"[{leaf}->{one}]" for one, _, leaf in pairs)
        second = "".join(f"[{leaf}->{other}]" for _, other, leaf in pairs)
        yield (
            f"S/{_root(left, form)}{first} FOLLOWED BY{{{equal}, {WINDOW}}} S/{_root(right, form)}{second}"
        )


def _root(channel: int, form: str) -> str:
    return f"c{channel}" if form == "paths" else f"item[channel = 'c{channel}']"


def item_texts(items: int, channels: int, form: str = "paths", seed: int = 2) -> Iterator[str]:
    """So many items as XML, some 580 bytes each; one in ten has the title and description of another.

    >>> next(item_texts(1, 5))[:60]
    '<c4><item_url>http://a.example/0</item_url><channel>c4</chan'
    """
    draw = np.random.default_rng(seed)
    posted_by = draw.integers(0, channels, items)
    content = np.arange(items)
    again = np.arange(REPOST_EVERY - 1, items, REPOST_EVERY)
    rounds = draw.integers(0, np.minimum(again // REPOST_EVERY, _FARTHEST_REPOST) + 1)
    content[again] -= rounds * REPOST_EVERY + draw.integers(1, REPOST_EVERY, len(again))  # never of a repost
    for item, (channel, number) in enumerate(zip(posted_by.tolist(), content.tolist(), strict=True)):
        root = f"c{channel}" if form == "paths" else "item"
        yield (
            f"<{root}><item_url>http://a.example/{item}</item_url><channel>c{channel}</channel>"
            f"<title>title {number} of the feed</title><timestamp>{item // 2}</timestamp>"
            f"<description>{number} {_words(number)}</description></{root}>"
        )


def _words(number: int) -> str:
    return " ".join(f"word{1000 + (number * 31 + place * 17) % 3000}" for place in range(45))


def write_feed(folder: str, items: int, queries: int, form: str = "paths") -> str:
    """Write items and a script with the stream and so many queries; returns the path of the script."""
    path = f"{folder}/subscriptions.sql"
    declaration = write_stream_of_items(folder, items, channels_of(queries), form)
    with open(path, "w", encoding="utf-8") as script:
        script.write(declaration + registrations(queries, form))
    return path


def write_stream_of_items(folder: str, items: int, channels: int, form: str = "paths") -> str:
    """Write items as JSON Lines; returns the declaration of their stream."""
    with open(f"{folder}/feed.jsonl", "w", encoding="utf-8") as feed:
        for ts, text in enumerate(item_texts(items, channels, form)):
            feed.write(json.dumps({"doc": text, "ts": ts}) + "\n")
    return DECLARATION.format(folder=folder, window=WINDOW + 1)


def registrations(queries: int, form: str = "paths") -> str:
    """The statements that register so many queries."""
    texts = subscriptions(queries, form)
    return "".join(f"CREATE QUERY q{n} AS XSCL $$ {text} $$;\n" for n, text in enumerate(texts))
