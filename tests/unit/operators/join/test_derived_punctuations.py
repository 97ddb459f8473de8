"""What joins promise of their own rows: told when it is true, gathered from buckets, and who may listen."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT
from seine.frontends.script.parser import read_script
from seine.graph.node import Filter, Node, Port
from seine.graph.parameter_table import ParameterTable
from seine.network.network import Network, build_network
from seine.network.network_record import NetworkRecord
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.join.derived_punctuations import WAITING, DerivedPunctuationsNode, gathered
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.join.join_purge import PurgeRule
from seine.operators.match.any_of import any_of
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.state.runs import Runs
from seine.operators.state.store import MemoryStore
from seine.optimizer.estimates import Estimates, Sample
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, DerivedPunctuations
from seine.rows.hashing import hash_columns
from seine.typed_json import read_json
from tests.support.live_runs import Pipeline, alone, read_story
from tests.support.network_text import network_text
from tests.support.seeds import seeds

TREES = CONFIGURATIONS["two-by-two"]

# ---- one join


def punctuations(values: list[int], bucket: int | None = None, number: int = 0) -> pa.RecordBatch:
    column = pa.array(values, pa.int64())
    count = len(values)
    named = {
        "_k": hash_columns([column], count),
        "_s": np.full(count, number),
        "_e": np.full(count, FOREVER),
        "c0": column,
    }
    return pa.record_batch(named if bucket is None else {**named, "c1": np.full(count, bucket)})


def test_what_all_buckets_have_told_counts_once() -> None:
    rng = random.Random(1)
    derived = [(value, bucket) for value in range(40) for bucket in range(3)] * 2
    rng.shuffle(derived)
    store, counted, heard = MemoryStore(), [], set()
    while derived:
        first, derived = derived[:7], derived[7:]
        pieces = [punctuations([value], bucket) for value, bucket in first]
        whole = gathered(pa.concat_batches(pieces), Runs(store, "parts"), 3)
        heard |= {*first}
        if whole is not None:
            assert whole.schema.names == ["_k", "_s", "_e", "c0"]
            counted += whole["c0"].to_pylist()
        assert {*counted} == {v for v in range(40) if all((v, b) in heard for b in range(3))}
    assert {*counted} == {*range(40)}


KEY, OTHER = Column(0, BIGINT), Column(1, BIGINT)


def telling_join(columns: tuple[int, ...]) -> JoinOperator:
    """Rows (k, v) of two sides by k; the left one promises values of v, both promise values of k."""
    types = (BIGINT, BIGINT)
    rows = [Port(1, types, ("s",), 0, (KEY,)), Port(2, types, ("t",), 0, (KEY,))]
    punctuation_ports = [Port(3 + side, (BIGINT,), (), 0, (KEY,)) for side in (0, 1)]
    tables = {7: ParameterTable([])}
    tables[7].claim([], "q")
    common = {"streams": ("s", "t"), "hold": (), "identities": 0, "stage": 1, "owner": ""}
    filters = (Filter(None, 7),)
    node = JoinNode(
        id=9,
        ports=(*rows, *punctuation_ports),
        types=types * 2,
        out=(0, 1, 2, 3),
        filters=filters,
        purges=(PurgeRule(0, (0,)), PurgeRule(1, (0,))),
        **common,  # type: ignore[arg-type]
    )
    tell = DerivedPunctuationsNode(
        id=10,
        ports=(Port(9, types * 2, ("s", "t")), Port(5, (BIGINT,), ("s",), 0, (KEY,), broadcast=True)),
        types=(BIGINT, BIGINT),
        out=(0, 1),
        side=0,
        columns=columns,
        **common,  # type: ignore[arg-type]
    )
    return JoinOperator(node, any_of(filters, tables), derived=[tell])


@pytest.mark.parametrize("column", [0, 1])
@seeds(4)
def test_what_is_told_is_true_and_all_is_told_in_the_end(column: int, seed: int) -> None:
    rng = random.Random(seed)
    join, store = telling_join((column,)), MemoryStore(bucket=4)
    keys = [{*range(6)}, {*range(6)}]  # that may still come
    open_ = {*range(5)}  # values of v on the left, or of k where that is told
    if column == 0:
        keys[0] = open_ = {*range(6)}
    derived: set[int] = set()
    given = 0
    for _ in range(60):
        inputs: list[list[Delta]] = [[], [], [], [], []]
        for side in (0, 1):
            rows = [(k, rng.randrange(5)) for k in rng.choices(range(6), k=3) if k in keys[side]]
            rows = [row for row in rows if side or row[column] in open_]
            if rows:
                batch = punctuations([k for k, _ in rows]).append_column("c1", pa.array([v for _, v in rows]))
                inputs[side] = [Delta(batch)]
            if keys[side] and rng.random() < 0.08:
                gone = rng.choice(sorted(keys[side]))
                keys[side].discard(gone)
                inputs[2 + side] = [Delta(punctuations([gone]))]
                if side == 0 and column == 0:
                    inputs[4] = [Delta(punctuations([gone]))]
        if column == 1 and open_ and rng.random() < 0.1:
            gone = rng.choice(sorted(open_))
            open_.discard(gone)
            inputs[4] = [Delta(punctuations([gone]))]
        before = {*derived}
        for piece in join.step(inputs, Clock({"s": NEVER, "t": NEVER}), store):
            if isinstance(piece, DerivedPunctuations):
                assert piece.batch["c1"].to_pylist() == [4] * piece.batch.num_rows
                assert not derived & {*piece.batch["c0"].to_pylist()} and piece.node == 10
                derived |= {*piece.batch["c0"].to_pylist()}
            else:
                given += piece.num_rows
                assert not before & {*piece.plus[f"c{column}"].to_pylist()}
    assert given > 20
    closing: list[list[Delta]] = [[], [], *([Delta(punctuations(sorted(left)))] for left in keys)]
    closing.append([Delta(punctuations(sorted(keys[0] if column == 0 else open_)))])
    for piece in [*join.step(closing, Clock({"s": NEVER, "t": NEVER}), store)]:
        assert isinstance(piece, DerivedPunctuations)
        derived |= {*piece.batch["c0"].to_pylist()}
    assert derived == ({*range(6)} if column == 0 else {*range(5)})
    assert join.state_rows(store) == 0 and not store.runs


# ---- networks

COLUMNS = "(a BIGINT, b BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) PUNCTUATED ON (b)"
CHAIN = "SELECT x.v AS p, y.v AS q, {0}.v AS r FROM x, y, {0} WHERE x.b = y.a AND y.b = {0}.a"
PAIR = "SELECT x.v AS p, y.v AS q FROM x, y WHERE x.b = y.a"


def script(folder: Path, queries: list[str]) -> Path:
    lines = [f"CREATE STREAM {name} {COLUMNS} FROM '{name}.jsonl';" for name in "wxyz"]
    lines += [f"CREATE QUERY q{i} AS {query};" for i, query in enumerate(queries)]
    for name in "wxyz":
        (folder / f"{name}.jsonl").touch()
    (folder / "script.sql").write_text("\n".join(lines), encoding="utf-8")
    return folder / "script.sql"


def of_kind(network: Network, kind: type[Node]) -> list[Node]:
    return [node for node in network if isinstance(node, kind)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_queries_share_the_join_that_they_have_in_common(tmp_path: Path, order: tuple[int, ...]) -> None:
    texts = [PAIR + " AND x.v > 3", CHAIN.format("z"), CHAIN.format("w") + " AND x.v < y.v"]
    declared = read_script(str(script(tmp_path, [texts[i] for i in order]))).declarations
    network = build_network(declared.queries.values(), TREES)
    shared = [node for node in of_kind(network, JoinNode) if len(network.users(node.id)) == 3]
    assert len(of_kind(network, JoinNode)) == 3 and len(shared) == 1
    (derived,) = of_kind(network, DerivedPunctuationsNode)
    assert derived.inputs[0] == shared[0].id and len(network.users(derived.id)) == 2
    again = Network.of(read_json(network_text(network).encode(), NetworkRecord))
    assert network_text(again) == network_text(network)
    for query in ("q1", "q0", "q2"):
        again.remove(query)
    assert not again.nodes and not again.tables


def test_estimates_decide_by_the_objective(tmp_path: Path) -> None:
    """A join of all meets more combinations, and holds fewer rows; without estimates it is taken."""
    (query,) = read_script(str(script(tmp_path, [CHAIN.format("z")]))).declarations.queries.values()
    rng = np.random.default_rng(1)
    columns = {f"c{i}": rng.integers(0, 50, 200) for i in range(4)}
    known = Estimates({name: Sample(pa.record_batch(columns), 10_000) for name in "xyz"})
    for estimates, objective, tree in (
        (None, "throughput", False),
        (known, "throughput", True),
        (known, "memory", False),
    ):
        network = Network(Strategy(objective=objective))
        network.estimates = estimates
        network.add(query)
        assert bool(of_kind(network, DerivedPunctuationsNode)) is tree
        assert network.joined["q0"] == [(("x", "y"), "z") if tree else ("x", "y", "z")]


def test_a_pipeline_that_runs_opens_no_stage_for_a_tree(tmp_path: Path) -> None:
    (query,) = read_script(str(script(tmp_path, [CHAIN.format("z")]))).declarations.queries.values()
    for room, at_once in ((1, True), (2, False)):
        network = Network(TREES, live=True)
        network.stages = room
        network.add(query)
        assert bool(of_kind(network, MultiJoinNode)) is at_once


def test_who_listened_leaves_nothing_behind(tmp_path: Path) -> None:
    path = script(tmp_path, [CHAIN.format("z"), PAIR])
    rng = random.Random(5)
    for name in "wxyz":
        rows = [
            {"a": rng.randrange(50), "b": rng.randrange(50), "v": time, "ts": time} for time in range(100)
        ]
        closed = [{"@punctuate": {"b": value}, "ts": 40} for value in range(50, 90)]
        lines = [*rows[:40], *closed, *rows[40:]]
        if name == "y":  # while its rows are held, nothing is told of their values
            lines = [*rows[:40], *({"@punctuate": {"b": rows[i]["b"]}, "ts": 40} for i in range(20))]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    story = read_story(path, tmp_path / "journal", 20)
    (tmp_path / "run").mkdir()
    pipeline = Pipeline(tmp_path / "run", story, live=False, strategy=TREES)
    queries = list(story.declarations.queries.values())
    for query in queries:
        pipeline.network.add(query)
    waited = []
    for number, input_ in enumerate(story.inputs[:-1]):
        pipeline.feed(input_)
        held = [name for store in pipeline.stores() for name in store.head if name.startswith(WAITING)]
        waited.append(
            any(store.head[name] for store in pipeline.stores() for name in store.head if name in held)
        )
        if number == len(story.inputs) - 3:
            pipeline.remove("q0")
    assert any(waited) and not waited[-1] and not held
    assert pipeline.answer("q1", 0, len(story.inputs)).total() > 20


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_who_comes_late_shares_all_or_builds_anew(seed: int, tmp_path: Path) -> None:
    """A join that has run tells nobody new; an equal query finds the whole tree."""
    path = script(tmp_path, [CHAIN.format("z"), CHAIN.format("z") + " AND x.v > 3", CHAIN.format("w"), PAIR])
    rng = random.Random(seed)
    for name in "wxyz":
        rows = [
            {"a": rng.randrange(4), "b": rng.randrange(4), "v": rng.randrange(9), "ts": time}
            for time in range(60)
        ]
        closed = {"a": {*range(4, 7)}, "b": {*range(4, 7)}}
        lines: list[dict[str, object]] = []
        for row in rows:
            if not any(row[column] in values for column, values in closed.items()):
                lines.append(row)
            if rng.random() < 0.1:
                column = rng.choice("ab")
                value = rng.randrange(8)
                closed[column].add(value)
                lines.append({"@punctuate": {column: value}, "ts": row["ts"]})
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    story = read_story(path, tmp_path / "journal", 8)
    queries = list(story.declarations.queries.values())
    (tmp_path / "live").mkdir()
    pipeline = Pipeline(tmp_path / "live", story, live=True, strategy=TREES)
    pipeline.network.stages = 2
    births = {0: 0, 1: 3, 2: 3, 3: 5}
    for number, input_ in enumerate(story.inputs):
        for i, born in births.items():
            if born == number:
                pipeline.add(queries[i])
        if number == 4:
            pipeline.restart()
            pipeline.network.stages = 2
        pipeline.feed(input_)
    joins = [node for node in pipeline.network if isinstance(node, JoinNode)]
    assert Counter(node.generation for node in joins) == {0: 2, 1: 2}
    assert (
        not of_kind(pipeline.network, MultiJoinNode)
        and len(of_kind(pipeline.network, DerivedPunctuationsNode)) == 2
    )
    total = 0
    for i, born in births.items():
        expected = alone(tmp_path / f"alone {i}", story, queries[i], born)
        live = pipeline.answer(queries[i].name, born, len(story.inputs))
        assert live == expected.answer(queries[i].name, 0, len(story.inputs)), i
        total += live.total()
    assert total > 20
    for query in ("q0", "q2", "q1"):
        pipeline.remove(query)
    assert (
        not of_kind(pipeline.network, DerivedPunctuationsNode)
        and len(of_kind(pipeline.network, JoinNode)) == 1
    )
    pipeline.remove("q3")
    assert not pipeline.network.nodes
