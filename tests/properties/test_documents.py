"""Random XSCL queries over random documents: the whole engine without Spark against brute force on XPath."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.operators.documents import document_join, held_documents
from seine.run_local import run_local
from tests.generators.documents import DocumentStream, QueryMaker, random_stream
from tests.reference.xscl_answers import Answer, Document, answers
from tests.support.live_runs import Pipeline, Story, read_story
from tests.support.seeds import seed_range, seeds

Record = tuple[Any, ...]


@seeds(20)
def test_engine_agrees_with_brute_force(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    streams = [random_stream(rng, name, rng.randint(4, 14)) for name in ("s", "r")[: rng.randint(1, 2)]]
    maker = QueryMaker(rng, [stream.name for stream in streams])
    queries = {f"q{i}": maker.query() for i in range(rng.randint(3, 12))}
    expected = _expected(queries, streams)
    script = _written(tmp_path, queries, streams)
    for _ in range(2):
        batch_rows, buckets = rng.choice((None, 1, 2, 5)), rng.choice((1, 2, 3))
        result = run_local(str(script), batch_rows=batch_rows, buckets=buckets)
        assert _reported(result.records) == expected, (seed, batch_rows, buckets)
        assert not result.stats["state_rows"]["final"]


@seeds(8)
def test_chains_of_joins_agree_with_brute_force(seed: int, tmp_path: Path) -> None:
    rng = random.Random(1000 + seed)
    streams = [random_stream(rng, name, 7) for name in ("s", "r")]
    maker = QueryMaker(rng, [stream.name for stream in streams])
    queries = {f"q{i}": maker.query(3) for i in range(20)}
    result = run_local(str(_written(tmp_path, queries, streams)), batch_rows=rng.choice((None, 2)))
    assert _reported(result.records) == _expected(queries, streams), seed


def test_random_queries_have_answers() -> None:
    counts: Counter[int] = Counter()
    for seed in seed_range(40):
        rng = random.Random(seed)
        streams = [random_stream(rng, "s", 12)]
        for blocks in (1, 2, 3):
            text = QueryMaker(rng, ["s"]).query(blocks)
            counts[blocks] += sum(_expected({"q": text}, streams).values())
    assert min(counts[blocks] for blocks in (1, 2, 3)) > 20, counts


@seeds(6)
def test_hashes_of_two_bits_change_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes only let too much pass: here almost every two values have one hash."""
    rng = random.Random(2000 + seed)
    streams = [random_stream(rng, name, 10) for name in ("s", "r")]
    maker = QueryMaker(rng, [stream.name for stream in streams])
    queries = {f"q{i}": maker.query() for i in range(10)}
    whole = held_documents.FlatWitnesses.of

    def cut(batch: Any) -> held_documents.FlatWitnesses:
        return whole(batch)._replace(value=whole(batch).value & 3)

    monkeypatch.setattr(held_documents.FlatWitnesses, "of", staticmethod(cut))
    result = run_local(str(_written(tmp_path, queries, streams)), batch_rows=4)
    assert _reported(result.records) == _expected(queries, streams), seed
    assert document_join.FlatWitnesses.of is cut


@seeds(8)
def test_queries_that_come_and_go_count_from_their_registration(seed: int, tmp_path: Path) -> None:
    rng = random.Random(3000 + seed)
    streams = [random_stream(rng, name, 12) for name in ("s", "r")]
    maker = QueryMaker(rng, [stream.name for stream in streams])
    texts = {f"q{i}": maker.query() for i in range(10)}
    texts["publisher"] = maker.query(2) + " PUBLISH p"
    texts["reader"] = QueryMaker(rng, ["p", "s"]).query(2)
    story = read_story(_written(tmp_path, texts, streams), tmp_path / "story", rng.randint(1, 4))
    pipeline = Pipeline(tmp_path / "live", story, live=True, buckets=rng.randint(1, 3))
    lives = _live_through(rng, pipeline, story, list(texts))
    for name, (born, gone) in lives.items():
        heard = {stream.name: _arrived(story, stream, born, gone) for stream in streams}
        if name == "reader":
            published = _records(pipeline, "publisher", born, gone)
            heard["p"] = [Document(one["t_start"], one["row"]["doc"], one["t_end"]) for one in published]
        wanted = Counter(_record(name, one) for one in answers(texts[name], heard))
        assert _reported(_records(pipeline, name, born, gone)) == wanted, (seed, name, born, gone)


def _records(pipeline: Pipeline, query: str, born: int, gone: int) -> list[dict[str, Any]]:
    """What a query reported in the entries from one to another."""
    return [one for entry in pipeline.records[born:gone] for one in entry if one["query"] == query]


def _live_through(
    rng: random.Random, pipeline: Pipeline, story: Story, names: list[str]
) -> dict[str, tuple[int, int]]:
    """Feed a story while queries come and go; from which entry to which each was there."""
    lives: dict[str, tuple[int, int]] = {}
    end = len(story.inputs)
    for number, input_ in enumerate(story.inputs):
        leaving = [one for one, (born, gone) in lives.items() if gone == end and born < number]
        for name in leaving:
            if name not in ("publisher", "reader") and rng.random() < 0.1:
                pipeline.remove(name)
                lives[name] = (lives[name][0], number)
        for name in names:
            waits = name == "reader" and "publisher" not in lives
            if name not in lives and not waits and rng.random() < 0.4:
                pipeline.add(story.declarations.queries[name])
                lives[name] = (number, end)
        if rng.random() < 0.2:
            pipeline.restart()
        pipeline.feed(input_)
    return lives


def _arrived(story: Story, stream: DocumentStream, born: int, gone: int) -> list[Document]:
    """The documents of a stream that came in some entries."""
    rows = [row for i in story.inputs[born:gone] if (b := i.rows.get(stream.name)) for row in b.to_pylist()]
    window = stream.window
    return [Document(row["c1"], row["c0"], None if window is None else row["c1"] + window) for row in rows]


def _expected(queries: dict[str, str], streams: list[DocumentStream]) -> Counter[Record]:
    documents: dict[str, list[Document]] = {stream.name: stream.documents() for stream in streams}
    records = [(name, one) for name, text in queries.items() for one in answers(text, documents)]
    return Counter(_record(name, one) for name, one in records)


def _record(name: str, one: Answer) -> Record:
    return name, one.t_start, one.t_end, one.left_ts, one.right_ts, one.bindings, one.doc


def _reported(records: list[dict[str, Any]]) -> Counter[Record]:
    reported: Counter[Record] = Counter()
    for record in records:
        assert record["op"] == "+"
        row = record["row"]
        bindings = tuple(sorted((name, str(number)) for name, number in row["bindings"].items()))
        times = record["t_start"], record["t_end"], row.get("left_ts"), row["right_ts"]
        reported[record["query"], *times, bindings, row["doc"]] += 1
    return reported


def _written(folder: Path, queries: dict[str, str], streams: list[DocumentStream]) -> Path:
    for stream in streams:
        stream.write(folder)
    lines = [stream.declaration for stream in streams]
    for name, text in queries.items():
        lines.append(f"CREATE QUERY {name} WITH (unbounded = true) AS XSCL $$ {text} $$;")
    script = folder / "script.sql"
    script.write_text("\n".join(lines), encoding="utf-8")
    return script
