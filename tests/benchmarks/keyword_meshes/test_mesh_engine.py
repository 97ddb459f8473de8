"""Every engine reports what brute force finds, each tree once, however its input is cut."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from benchmarks.keyword_meshes.mesh_engine import MeshEngine

from seine.keyword_networks.expanded_schema import ExpandedSchema, rarest_first
from tests.support.keyword_schemas import PAPER, random_schema
from tests.support.mesh_engines import ENGINES, run_engine
from tests.support.seeds import seed_range
from tests.support.tree_brute_force import LooseTuple, all_trees, random_tuples


def test_engines_report_all_trees_once() -> None:
    sizes = Counter[int]()
    for seed in seed_range(50):
        draw = Random(seed)
        schema, keywords = random_schema(draw, 3, 3), draw.choice((1, 2, 2, 3))
        most = {1: 3, 2: draw.choice((4, 5)), 3: draw.choice((3, 4))}[keywords]
        tuples = random_tuples(draw, schema, keywords, draw.randint(15, 30), draw.choice((0.1, 0.2, 0.4)))
        trees = all_trees(schema, tuples, keywords, most)
        if trees is None:
            continue
        expected = Counter(trees)
        expanded = ExpandedSchema(schema, keywords, selective=draw.random() < 0.5)
        for name, make in ENGINES.items():
            reported = run_engine(make(expanded, most), expanded, tuples, draw, draw.choice((1, 4, 15)))
            assert Counter(reported) == expected, f"seed {seed}, {name}"
        sizes.update(len(nodes) for nodes, _, _, _ in expected)
    assert min(sizes[1], sizes[2], sizes[3], sizes[4]) > 20


# Figures 2.1 and 3.1: tuples of S, T, U and V by name, with their keywords, times and values; windows of 8
_COLUMNS = {"S": (0,), "T": (1, 3, 5), "U": (2,), "V": (4,)}
_TUPLES = (
    ("v1", 0b011, 2, (1,)),
    ("t1", 0, 3, (1, 1, 1)),
    ("u1", 0b001, 4, (1,)),
    ("s1", 0b010, 5, (2,)),
    ("u2", 0b100, 5, (1,)),
    ("s2", 0, 6, (1,)),
    ("t3", 0, 6, (2, 1, 3)),
    ("t2", 0, 7, (1, 2, 2)),
    ("v2", 0b010, 8, (2,)),
    ("u3", 0b100, 9, (2,)),
)


def _paper_tuples() -> list[LooseTuple]:
    tuples = []
    for name, held, start, values in _TUPLES:
        stream = name[0].upper()
        by_side = dict(zip(_COLUMNS[stream], values, strict=True))
        tuples.append(LooseTuple("STUV".index(stream), held, start, start + 8, by_side))
    return tuples


@pytest.mark.parametrize("name", ENGINES)
def test_figure_3_1(name: str) -> None:
    """(v1, t1, u2) is reported at 5 and lives until 10; the other two results at 9; nothing redundant."""
    schema = ExpandedSchema(PAPER, 3)
    lives = {}
    for nodes, _, start, end in run_engine(ENGINES[name](schema, 6), schema, _paper_tuples(), Random(1), 2):
        lives[frozenset(_TUPLES[number][0] for number in nodes)] = (start, end)
    assert lives[frozenset(("v1", "t1", "u2"))] == (5, 10)
    assert lives[frozenset(("v1", "t1", "s2", "t2", "u3"))] == (9, 10)
    assert lives[frozenset(("u1", "t1", "s2", "t2", "v2", "u3"))] == (9, 11)
    assert frozenset(("v1", "t1", "u2", "s2")) not in lives  # s2 is redundant
    assert frozenset(("v2", "t2", "u3")) not in lives  # without k1


@pytest.mark.parametrize("name", ENGINES)
def test_figure_3_7(name: str) -> None:
    """T{} twice in a network: one tuple in both places is no result, two tuples are."""
    schema = ExpandedSchema(PAPER, 3)
    one = [
        LooseTuple(0, 0b001, 1, 9, {0: 1}),
        LooseTuple(1, 0, 1, 9, {1: 1, 3: 1, 5: 1}),
        LooseTuple(3, 0b010, 1, 9, {4: 1}),
        LooseTuple(2, 0b100, 1, 9, {2: 2}),
    ]
    assert run_engine(ENGINES[name](schema, 5), schema, one, Random(1), 1) == []
    two = [*one, LooseTuple(1, 0, 2, 9, {1: 1, 3: 2, 5: 3})]
    trees = run_engine(ENGINES[name](schema, 5), schema, two, Random(1), 1)
    assert [(sorted(nodes), start) for nodes, _, start, _ in trees] == [([0, 1, 2, 3, 4], 2)]


@pytest.mark.parametrize("name", ENGINES)
def test_nothing_is_left_when_everything_has_ended(name: str) -> None:
    draw = Random(4)
    schema = ExpandedSchema(PAPER, 2)
    tuples = random_tuples(draw, PAPER, 2, 200, 0.3)
    engine = ENGINES[name](schema, 4)
    assert run_engine(engine, schema, tuples, draw, 5)
    assert len(engine.sources.tuples) == 0 and len(engine.sources.all_places.keys) == 0
    if "lazy" not in name:
        assert engine.held_rows() == engine.join_rows() == 0
    if "partial" in name:
        assert engine.mesh.count == 0


def test_lazy_purging_keeps_nothing_beyond_twice_the_window() -> None:
    """Rows that have ended stay, but with joins that sleep never longer than 2w (and a step)."""
    ages: dict[str, list[int]] = {}
    for name in ENGINES:
        for seed in seed_range(6):
            ages.setdefault(name, []).extend(_ages_of_ended_rows(name, seed))
    for name, of_engine in ages.items():
        if "eager" in name or name == "forest":
            assert of_engine == []
    assert 0 < max(ages["full, demand, lazy"]) <= 2 * _WINDOW + 1
    assert max(ages["full, lazy"]) > 2 * _WINDOW + 1  # without sleepers nothing is promised


_WINDOW = 10


def _ages_of_ended_rows(name: str, seed: int) -> list[int]:
    """How long ago rows have ended that are still held, after each step of one tuple."""
    draw = Random(seed)
    schema = ExpandedSchema(PAPER, 2)
    tuples = [
        LooseTuple(one.stream, one.held, number, number + _WINDOW, one.values)
        for number, one in enumerate(random_tuples(draw, PAPER, 2, 150, 0.2))
    ]
    tuples = [  # V dries up for long
        one for one in tuples if one.stream != 3 or one.start < 30 or one.start > 100
    ]
    ages: list[int] = []

    def look(engine: MeshEngine, low: int) -> None:
        if low < 10**6:
            ages.extend(low - end for rows in engine.buffers[2:] for end in rows.end.tolist() if end <= low)

    run_engine(ENGINES[name](schema, 4), schema, tuples, draw, 1, look)
    return ages


def test_an_order_by_selectivity_holds_fewer_rows() -> None:
    """The same results whatever k1 is; with the rarest keyword as k1 fewer rows are held."""
    draw = Random(2)
    often = [
        LooseTuple(t.stream, t.held | (draw.random() < 0.5), t.start, t.end, t.values)
        for t in random_tuples(draw, PAPER, 2, 150, 0.1)
    ]
    order = rarest_first([sum(one.held >> k & 1 for one in often) for k in range(2)])
    assert order == [1, 0]
    rare = [LooseTuple(t.stream, t.held >> 1 | (t.held & 1) << 1, t.start, t.end, t.values) for t in often]
    schema = ExpandedSchema(PAPER, 2)
    results, peaks = [], []
    for tuples in (often, rare):
        engine = ENGINES["full, eager"](schema, 4)
        results.append(Counter(run_engine(engine, schema, tuples, Random(1), 3)))
        peaks.append(engine.peak_rows)
    assert results[0] == results[1] and results[0]
    assert peaks[1] < peaks[0]
