"""Every engine of MMQJP answers as brute force does, on random documents with repeated nodes."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.template_engines.result_relation import ResultRelation
from benchmarks.template_engines.sequential_engine import SequentialEngine
from benchmarks.template_engines.template_engine import TemplateEngine
from benchmarks.template_engines.template_relation import TemplateRelation, TemplateRelations
from benchmarks.template_engines.view_cache import ViewCache
from benchmarks.template_engines.view_engine import ViewEngine
from lxml import etree

from seine.run_local import run_local
from tests.support.document_streams import (
    Answer,
    Element,
    PatternQuery,
    brute_force,
    random_document,
    random_queries,
    variable_tree,
    witnesses,
    xscl_text,
)
from tests.support.seeds import seed_range

STREAM = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 1000 FROM 's.jsonl';\n"
Engine = TemplateEngine | ViewEngine | SequentialEngine
ENGINES: dict[str, Callable[[Sequence[TemplateRelation]], Engine]] = {
    "templates": TemplateEngine,
    "views": ViewEngine,
    "a large cache": lambda relations: ViewEngine(relations, ViewCache(10_000)),
    "a small cache": lambda relations: ViewEngine(relations, ViewCache(7)),
    "no room in the cache": lambda relations: ViewEngine(relations, ViewCache(0)),
    "sequential": SequentialEngine,
}


def _stream(draw: random.Random) -> list[tuple[Element, int]]:
    repeats, values = draw.random() < 0.7, draw.choice([2, 3, 6])
    times = sorted(draw.randrange(25) for _ in range(draw.randint(2, 7)))
    return [(random_document(draw, values, repeats), ts) for ts in times]


def _answers(results: Sequence[ResultRelation]) -> list[Answer]:
    """Results with the names of their variables."""
    answers = []
    for result in results:
        lefts = len(result.relation.template.left)
        rows = [result.relation.variables[row] for row in result.row.tolist()]
        weights = [int(weight) for weight in result.relation.weights[result.row]]
        names = [name for name, weight in zip(rows, weights, strict=True) for _ in range(weight)]
        for variables, (query, left, right, nodes) in zip(names, result.tuples(), strict=True):
            bound = frozenset(
                ("left" if place < lefts else "right", name, node)
                for place, (name, node) in enumerate(zip(variables, nodes, strict=True))
            )
            answers.append((query, left, right, bound))
    return answers


def _run(
    make: Callable[[Sequence[TemplateRelation]], Engine],
    queries: Sequence[PatternQuery],
    stream: Sequence[tuple[Element, int]],
    draw: random.Random,
    minor: bool = True,
) -> tuple[set[Answer], list[tuple[set[str], set[str]]]]:
    """The answers of an engine over a stream cut at random, and the variables it binds by query."""
    relations = TemplateRelations(minor)
    for number, query in enumerate(queries):
        relations.add(number, query.graph, query.window)
    compiled = relations.compiled()
    engine, strings, answers = make(compiled), {"": 0}, []
    first = 0
    while first < len(stream):
        end = first + draw.randint(1, 3)
        arriving = engine.hold(witnesses(first, stream[first:end], relations.pair_codes, strings))
        answers += _answers(engine.match(arriving))
        first = min(end, len(stream))
    assert len(answers) == len(set(answers))
    return set(answers), _kept(compiled, len(queries))


def _kept(compiled: Sequence[TemplateRelation], count: int) -> list[tuple[set[str], set[str]]]:
    kept: list[tuple[set[str], set[str]]] = [(set(), set())] * count
    for relation in compiled:
        lefts = len(relation.template.left)
        for query, *variables, _ in relation.tuples():
            assert isinstance(query, int)
            names = [str(name) for name in variables]
            kept[query] = set(names[:lefts]), set(names[lefts:])
    return kept


@pytest.mark.parametrize("name", ENGINES)
def test_engine_agrees_with_brute_force(name: str) -> None:
    reported = 0
    for seed in seed_range(40):
        draw = random.Random(seed)
        stream = _stream(draw)
        queries = random_queries(draw, draw.choice([1, 3, 8]), stream)
        answers, kept = _run(ENGINES[name], queries, stream, draw)
        assert answers == brute_force(queries, stream, kept), f"seed {seed}"
        reported += len(answers)
    assert reported > 300


@pytest.mark.parametrize("name", ["templates", "views", "sequential"])
def test_whole_join_graphs_agree_too(name: str) -> None:
    """Without the minor all variables are bound; those that the minor keeps are bound alike."""
    reduced = reported = 0
    for seed in seed_range(40):
        draw = random.Random(seed)
        stream = _stream(draw)
        queries = random_queries(draw, 3, stream)
        whole, all_names = _run(ENGINES[name], queries, stream, draw, minor=False)
        assert whole == brute_force(queries, stream, all_names), f"seed {seed}"
        answers, kept = _run(ENGINES[name], queries, stream, draw)
        assert answers == {_projected(answer, kept[answer[0]]) for answer in whole}
        reported += len(answers)
        reduced += sum(
            len(a) + len(b) > len(c) + len(d) for (a, b), (c, d) in zip(all_names, kept, strict=True)
        )
    assert reported > 200 and reduced > 30


def _projected(answer: Answer, kept: tuple[set[str], set[str]]) -> Answer:
    query, left, right, bound = answer
    sides = dict(zip(("left", "right"), kept, strict=True))
    return query, left, right, frozenset(one for one in bound if one[1] in sides[one[0]])


def test_the_engine_that_users_run_agrees(tmp_path: Path) -> None:
    """XSCL texts that bind what the minor keeps: records are rows of R_out, whoever evaluates them."""
    reported = 0
    for seed in seed_range(25):
        draw = random.Random(seed)
        stream = _stream(draw)
        queries = random_queries(draw, draw.choice([1, 3, 8]), stream)
        engines = ("templates", "views", "a small cache", "sequential")
        outcomes = {name: _run(ENGINES[name], queries, stream, draw) for name in engines}
        answers, kept = outcomes["templates"]
        assert all(outcome == (answers, kept) for outcome in outcomes.values())
        texts = [xscl_text(query, names) for query, names in zip(queries, kept, strict=True)]
        script = _written(tmp_path, texts, stream)
        batch_rows, buckets = draw.choice([None, 1, 3]), draw.choice([1, 2])
        records = run_local(str(script), batch_rows=batch_rows, buckets=buckets).records
        expected = Counter(_expected(answer, queries, stream) for answer in answers)
        assert Counter(map(_record, records)) == expected, f"seed {seed}"
        reported += len(records)
    assert reported > 150


def _written(folder: Path, texts: Sequence[str], stream: Sequence[tuple[Element, int]]) -> Path:
    """A script of queries, with the documents that it reads."""
    script = folder / "script.sql"
    queries = [f"CREATE QUERY q{number} AS XSCL $$ {text} $$;\n" for number, text in enumerate(texts)]
    script.write_text(STREAM + "".join(queries))
    lines = [{"doc": etree.tostring(root, encoding="unicode"), "ts": ts} for root, ts in stream]
    (folder / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return script


def _record(record: dict[str, Any]) -> tuple[Any, ...]:
    row = record["row"]
    return record["query"], row["left_ts"], row["right_ts"], frozenset(row["bindings"].items())


def _expected(
    answer: Answer, queries: Sequence[PatternQuery], stream: Sequence[tuple[Element, int]]
) -> tuple[Any, ...]:
    query, left, right, bound = answer
    sides = {"left": queries[query].left, "right": queries[query].right}
    bindings = {
        (f"{side[0]}{variable_tree(sides[side]).names.index(name)}", node) for side, name, node in bound
    }
    return f"q{query}", stream[left][1], stream[right][1], frozenset(bindings)
