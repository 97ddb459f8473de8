"""Results of a keyword search by brute force: all trees of the data graph, then those that count."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from benchmarks.keyword_meshes.search_arrivals import NO_VALUE, SearchArrivals, condition_sides

from seine.keyword_networks.expanded_schema import StreamingSchema

DataEdge = tuple[int, int, int]  # two tuples, the lesser number first, and the condition
MOST_TREES_OF_A_SIZE = 3_000  # dense graphs have millions
FoundTree = tuple[frozenset[int], frozenset[DataEdge], int, int]  # tuples, edges, life


@dataclass(frozen=True)
class LooseTuple:
    """A tuple: its stream, keywords and life, and a value for each side of a condition at its stream."""

    stream: int
    held: int
    start: int
    end: int
    values: dict[int, int]


def random_tuples(
    draw: random.Random, schema: StreamingSchema, keywords: int, count: int, often: float
) -> list[LooseTuple]:
    """In order of arrival: times roughly ascend, windows differ by stream, some values are NULL."""
    windows = [draw.choice((3, 6, 10)) for _ in schema.streams]
    sides = condition_sides(schema).tolist()
    tuples = []
    for number in range(count):
        stream = draw.randrange(len(schema.streams))
        held = sum(1 << k for k in range(keywords) if draw.random() < often)
        start = max(0, number // 2 + draw.randint(-2, 1))
        values = {side: draw.choice((0, 1, 2, 3, NO_VALUE)) for side in sides[stream] if side >= 0}
        tuples.append(LooseTuple(stream, held, start, start + windows[stream], values))
    return tuples


def as_arrivals(schema: StreamingSchema, tuples: list[LooseTuple]) -> SearchArrivals:
    """The tuples as arrays, numbered from 0 on."""
    sides = condition_sides(schema)
    values = [[one.values.get(side, NO_VALUE) for side in sides[one.stream].tolist()] for one in tuples]
    columns = [[getattr(one, name) for one in tuples] for name in ("stream", "held", "start", "end")]
    arrays = (np.array(column, np.int64) for column in columns)
    shaped = np.array(values, np.int64).reshape(len(tuples), sides.shape[1])
    return SearchArrivals(np.arange(len(tuples)), *arrays, shaped)


def data_edges(schema: StreamingSchema, tuples: list[LooseTuple]) -> list[DataEdge]:
    """Every pair of tuples that a condition joins, either way round."""
    return [
        (a, b, number)
        for a in range(len(tuples))
        for b in range(a + 1, len(tuples))
        for number in range(len(schema.conditions))
        if any(_fits(tuples[x], tuples[y], number) for x, y in ((a, b), (b, a)))
    ]


def _fits(left: LooseTuple, right: LooseTuple, condition: int) -> bool:
    value = left.values.get(2 * condition, NO_VALUE)
    return value != NO_VALUE and value == right.values.get(2 * condition + 1, NO_VALUE)


def all_trees(
    schema: StreamingSchema, tuples: list[LooseTuple], keywords: int, max_tuples: int
) -> list[FoundTree] | None:
    """Every total and minimal tree of live tuples, by tuples and conditions; None if too many grow."""
    near: dict[int, list[DataEdge]] = {}
    for edge in data_edges(schema, tuples):
        near.setdefault(edge[0], []).append(edge)
        near.setdefault(edge[1], []).append(edge)
    level = {(frozenset((number,)), frozenset[DataEdge]()) for number in range(len(tuples))}
    results = []
    for _ in range(max_tuples):
        results += [
            (nodes, edges, *_life(tuples, nodes))
            for nodes, edges in level
            if _counts(tuples, nodes, edges, (1 << keywords) - 1)
        ]
        level = {
            (nodes | set(edge[:2]), edges | {edge})
            for nodes, edges in level
            for node in nodes
            for edge in near.get(node, ())
            if not nodes.issuperset(edge[:2]) and _alive(tuples, nodes | set(edge[:2]))
        }
        if len(level) > MOST_TREES_OF_A_SIZE:
            return None
    return results


def _life(tuples: list[LooseTuple], nodes: frozenset[int]) -> tuple[int, int]:
    return max(tuples[n].start for n in nodes), min(tuples[n].end for n in nodes)


def _alive(tuples: list[LooseTuple], nodes: frozenset[int]) -> bool:
    start, end = _life(tuples, nodes)
    return start < end


def _counts(
    tuples: list[LooseTuple], nodes: frozenset[int], edges: frozenset[DataEdge], everything: int
) -> bool:
    union = 0
    for node in nodes:
        union |= tuples[node].held
    leaves = [node for node in nodes if sum(node in edge[:2] for edge in edges) == 1]

    def others(leaf: int) -> int:
        held = 0
        for node in nodes - {leaf}:
            held |= tuples[node].held
        return held

    return union == everything and all(tuples[leaf].held & ~others(leaf) for leaf in leaves)
