"""Benchmark `safety` as one page: its parts one after the other, with tables and charts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.side import together
from benchmarks.harness.table import Table
from benchmarks.safety import check_cost, held_state, plan_cost, purge_cost, purge_throughput

_CHECK = """\
### The check

The check of one query, from taking its plan apart to the verdict, beside a search for each stream by itself:
CPU time, the median of {runs} runs. The queries are safe. In `pairs` a stream is closed by the punctuations
of two others together."""
_COST = """\
### What purging costs

The auction query with one punctuation for every 10 tuples, {bids:,} bids, from JSON Lines to results; beside
the same tuples without punctuations, and with windows that give the same results. A micro-batch has as many
tuples in each. CPU time, {rounds} rounds in which all take turns. The last columns say by how much
throughput is lower, the median of the rounds."""
_SPARK = """\
The same through the whole pipeline on Spark, {bids:,} bids, {batch_rows:,} a micro-batch. Each run is a
process of its own; {rounds} rounds in which all take turns, medians. The first {warm} micro-batches of a run
are not counted. CPU time is that of all processes."""
_AUCTIONS = """\
### State of the auction query

Items and {bids:,} bids; {open_items:,} auctions are open at a time. An item is punctuated when it comes,
its bids when it closes. Rows and punctuations that the join holds, by tuples read; micro-batches of
{batch_rows:,} lines of a stream."""
_SMALL_BATCHES = """\
The same with {bids:,} bids, {open_items:,} open auctions and micro-batches of {batch_rows:,} lines: so few
punctuations come at a time that a lazy join lets them gather."""
_JOINS = """\
### State of joins of several streams

{keys:,} tuples of each stream. In a chain the next stream has b of the last as its a; a cycle is closed by
one more equality. A key is in use for {life:,} instants, then each stream punctuates it in a and in b.
Rows and punctuations held, by how much of the input was read; micro-batches of {batch_rows:,} lines of a
stream."""
_PLANS = """\
### Plans: two by two, or all at once

{keys:,} tuples of each stream, a key in use for {life:,} instants, as above; of one chain the second stream
has {many} of each key; {queries} queries have the first two streams in common, with a quarter of the tuples.
Two by two, a join sends the one above derived punctuations of what it holds no more. CPU time with two
buckets, the median of {rounds} rounds; the last column is what stages take with a core for each bucket."""

Draw = Callable[..., Table | tuple[Table, held_state.Picture]]
PARTS: tuple[tuple[str, str, Draw], ...] = (
    ("check", _CHECK, check_cost.main),
    ("costs", _COST, purge_cost.costs),
    ("throughput", _SPARK, purge_throughput.throughput),
    ("auctions", _AUCTIONS, held_state.auctions),
    ("small", _SMALL_BATCHES, held_state.small_batches),
    ("joins", _JOINS, held_state.joins),
    ("plans", _PLANS, plan_cost.plans),
)


def main(sizes: Mapping[str, Mapping[str, Any]], pictures: str | None = None) -> str:
    """The page of all parts; charts are written to the folder `pictures`, if one is given."""
    parts = []
    for name, text, measure in PARTS:
        print(f"  {name}", file=sys.stderr, flush=True)
        made = measure(**sizes[name])
        table, picture = made if isinstance(made, tuple) else (made, None)
        parts.append(f"{text.format(**sizes[name])}\n\n{table}")
        if pictures and picture:
            os.makedirs(pictures, exist_ok=True)
            with open(os.path.join(pictures, picture[0]), "w", encoding="utf-8") as out:
                out.write(picture[1])
    return "\n\n".join(parts)


FULL: Mapping[str, Mapping[str, Any]] = {
    "check": {"counts": (10, 100, 1_000, 10_000), "runs": 7},
    "costs": {"bids": 1_000_000, "open_items": 10_000, "batches": (200_000,), "rounds": 5},
    "throughput": {"bids": 4_000_000, "open_items": 10_000, "batch_rows": 200_000, "warm": 8, "rounds": 3},
    "auctions": {"bids": 10_000_000, "open_items": 10_000, "batch_rows": 100_000},
    "small": {"bids": 40_000, "open_items": 1_000, "batch_rows": 100},
    "joins": {"widths": (3, 4, 5, 6), "keys": 5_000, "life": 250, "batch_rows": 1_000},
    "plans": {
        "widths": (3, 4, 5, 6),
        "keys": 20_000,
        "life": 2_000,
        "many": 20,
        "queries": 8,
        "batches": (1_000, 20_000),
        "rounds": 3,
    },
}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "check": {"counts": (10, 100), "runs": 3},
    "costs": {"bids": 2_000, "open_items": 50, "batches": (1_000,), "rounds": 1},
    "throughput": {
        "bids": 4_000,
        "open_items": 50,
        "batch_rows": 1_000,
        "warm": 2,
        "rounds": 1,
        "runner": together,
    },
    "auctions": {"bids": 10_000, "open_items": 50, "batch_rows": 1_000},
    "small": {"bids": 4_000, "open_items": 100, "batch_rows": 400},
    "joins": {"widths": (3,), "keys": 400, "life": 40, "batch_rows": 150},
    "plans": {
        "widths": (3,),
        "keys": 400,
        "life": 40,
        "many": 4,
        "queries": 2,
        "batches": (150,),
        "rounds": 1,
    },
}
