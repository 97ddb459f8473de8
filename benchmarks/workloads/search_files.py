"""The trace of SKWS as files and a script: streams with a column for each edge and one of words."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.keyword_meshes.search_arrivals import condition_sides
from benchmarks.workloads.search_schemas import ternary_tree
from benchmarks.workloads.search_trace import SearchTrace
from seine.algebra.arrays import IntArray


def keyword_search(trace: SearchTrace) -> str:
    """The query of the paper's experiments: all keywords of the trace."""
    words = " ".join(f"k{number + 1}" for number in range(trace.keywords))
    return f"CREATE QUERY q AS SEARCH '{words}' MAX {trace.max_tuples} TUPLES;\n"


def keyword_texts(trace: SearchTrace) -> pa.Array:
    """The words of each tuple: the keywords that it holds."""
    sets = [
        " ".join(f"k{bit + 1}" for bit in range(trace.keywords) if held >> bit & 1)
        for held in range(1 << trace.keywords)
    ]
    return pa.array(sets).take(pa.array(trace.arrivals.held))


def pair_searches(count: int, words: int, seed: int) -> list[str]:
    """Queries of two different words each, no two of them the same."""
    draw = np.random.default_rng(seed)
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < count:
        first, second = np.sort(draw.integers(0, words, (2, count)), axis=0)
        pairs |= dict.fromkeys((a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True) if a < b)
    return [
        f"CREATE QUERY q{number} AS SEARCH 'w{a} w{b}';\n"
        for number, (a, b) in enumerate(list(pairs)[:count])
    ]


def rare_texts(trace: SearchTrace, words: int, share: float) -> pa.Array:
    """One of so many words in that share of the tuples, nothing in the others."""
    draw = np.random.default_rng(trace.seed + 1)
    count = len(trace.arrivals)
    chosen: IntArray = np.where(draw.random(count) < share, draw.integers(1, words + 1, count), 0)
    texts = ["", *(f"w{number}" for number in range(words))]
    return pa.array(texts).take(pa.array(chosen))


def write_search(folder: str, trace: SearchTrace, texts: pa.Array, queries: Iterable[str]) -> str:
    """Write a file for each stream, and a script of the streams, their edges and the queries; its path."""
    schema = ternary_tree(trace.streams)
    sides = condition_sides(schema)
    statements = []
    for number, name in enumerate(schema.streams):
        columns = [f"e{side}" for side in sides[number].tolist() if side >= 0]
        _write_stream(os.path.join(folder, f"{name}.parquet"), trace, texts, number, columns)
        declared = ", ".join(f"{column} BIGINT" for column in columns)
        statements.append(
            f"CREATE STREAM {name} ({declared}, words STRING, ts BIGINT) TIMESTAMP BY ts "
            f"WINDOW {int(60 * trace.window)} FROM '{name}.parquet' FORMAT PARQUET;\n"
        )
    for number, ends in enumerate(schema.conditions):
        left, right = (schema.streams[end] for end in ends)
        statements.append(f"CREATE JOIN {left}.e{2 * number} = {right}.e{2 * number + 1};\n")
    path = os.path.join(folder, "search.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines([*statements, *queries])
    return path


def _write_stream(path: str, trace: SearchTrace, texts: pa.Array, stream: int, columns: list[str]) -> None:
    rows = np.flatnonzero(trace.arrivals.stream == stream)
    values = {column: trace.arrivals.values[rows, place] for place, column in enumerate(columns)}
    words, times = texts.take(pa.array(rows)), trace.arrivals.start[rows]
    pq.write_table(pa.table({**values, "words": words, "ts": times}), path)
