"""Deployments and tasks: a network reads back, and slices cover an entry once."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from seine import disk_sync as durable
from seine.algebra.definitions import Scheme, StreamDef
from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT, TIMESTAMP, Field
from seine.disk_sync import write_whole
from seine.errors import SeineError
from seine.evaluate.data_columns import DataColumns
from seine.frontends.script.parser import read_script
from seine.graph.node_kinds import node_to_json
from seine.intake.journal import Entry
from seine.operators.join.lookup import LookupNode
from seine.operators.kinds import KINDS
from seine.operators.state.work_budget import WorkBudget
from seine.operators.stream.source import PunctuationsNode, SourceNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER
from seine.run import Options, Run
from seine.runtime.flow import tasks
from seine.runtime.flow.admitted_rows import punctuation_delta, source_delta
from seine.runtime.flow.dataflow import Route, compile_version, route
from seine.runtime.flow.task_output import task_at_work
from seine.runtime.flow.tasks import slices_of, task_slices
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import FORMAT
from seine.scratch_folder import scratch_folder
from seine.storage.memory import MemoryStore
from seine.user_code import process
from seine.user_code.limits import FunctionLimits
from seine.user_code.process import limit_functions
from tests.support.runtime_nodes import rows

SCRIPT = """
CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 's.jsonl';
CREATE RELATION r (k BIGINT, name STRING) FROM 'r.jsonl';
CREATE QUERY q AS SELECT s.k, r.name FROM s, r WHERE s.k = r.k;
"""


def script_file(folder: Path) -> str:
    (folder / "s.jsonl").write_text('{"k": 1, "ts": 1}\n')
    (folder / "r.jsonl").write_text('{"k": 1, "name": "x"}\n{"k": "bad"}\n')
    (folder / "script.sql").write_text(SCRIPT)
    return str(folder / "script.sql")


def test_a_deployment_reads_back_elsewhere(tmp_path: Path) -> None:
    run = Run(
        read_script(script_file(tmp_path)), Options(str(tmp_path / "out"), checkpoint=str(tmp_path / "d"))
    )
    there = Deployment(str(tmp_path / "d"))
    assert there.exists() and there.settings == run.deployment.settings
    loaded = compile_version(there, run.network.version)
    assert loaded.flow.nodes == run.network.nodes and set(loaded.version.streams) == {"s"}
    (lookup,) = (node for node in loaded.flow.nodes.values() if isinstance(node, LookupNode))
    first, second = (lookup.make_lookup(loaded.flow) for _ in range(2))
    assert first._index is second._index
    (letter,) = there.versions.dead_letters(run.network.version)
    assert letter["line"] == 2
    run.close()


def test_functions_may_take_what_the_pipeline_of_each_task_says(tmp_path: Path) -> None:
    """Pipelines take turns in a process, which has compiled them both."""
    script, deployments = read_script(script_file(tmp_path)), []
    for seconds in (3, 4):
        budget = WorkBudget(functions=FunctionLimits(seconds))
        options = Options(str(tmp_path / "out"), checkpoint=str(tmp_path / f"{seconds}"), budget=budget)
        Run(script, options).close()
        deployments.append(Deployment(options.checkpoint or ""))
    taken = []
    for deployment in (*deployments, *deployments):
        with task_at_work(deployment, 0):
            taken.append(process._processes.limits.seconds)
    limit_functions(FunctionLimits())
    assert taken == [3, 4, 3, 4]


def test_a_checkpoint_of_another_format_is_refused_with_one_line(tmp_path: Path) -> None:
    options = Options(str(tmp_path / "out"), checkpoint=str(tmp_path / "d"))
    script = script_file(tmp_path)
    Run(read_script(script), options).close()
    made = Deployment(str(tmp_path / "d"))
    made.create(replace(made.settings, format=FORMAT - 2))
    with pytest.raises(SeineError) as refused:
        Run(read_script(script), options)
    assert str(refused.value).splitlines()[0].endswith("it is too old")


def test_a_run_without_a_checkpoint_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    run = Run(read_script(script_file(tmp_path)), Options(str(tmp_path / "out")))
    assert len(os.listdir(scratch_folder())) == 2
    run.close()
    assert os.listdir(scratch_folder()) == ["lock"], "which goes with the process"
    assert [os.path.join(tmp_path / "tmp", name) for name in os.listdir(tmp_path / "tmp")] == [
        scratch_folder()
    ]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    write_whole(str(path), b"old")

    def crash(handle: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "fsync", crash)
        with pytest.raises(KeyboardInterrupt):
            write_whole(str(path), b"new")
    assert path.read_bytes() == b"old"
    write_whole(str(path), b"new")
    assert os.listdir(tmp_path) == ["f"] and path.read_bytes() == b"new"


def test_slices_cover_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_SLICE_ROWS", 10)
    rng = random.Random(3)
    for _ in range(200):
        counts = {f"s{i}": rng.choice([1, 9, 10, 11, 25, 400]) for i in range(rng.randrange(4))}
        punctuations = {f"s{i}": 3 for i in range(5) if rng.random() < 0.3}
        cut, parallelism = entry(4, counts, punctuations), rng.randint(1, 5)
        slices, shared = slices_of(cut, parallelism), task_slices(cut, parallelism)
        assert [slice_ for task in shared for slice_ in task] == slices
        size = max(10, -(-sum(counts.values()) // parallelism))
        rows = [sum(slice_.length for slice_ in task) for task in shared]
        assert all(count <= size for count in rows)
        assert all(here + there[0].length > size for here, there in zip(rows, shared[1:], strict=False))
        covered: dict[str, list[int]] = defaultdict(list)
        for piece in slices:
            if piece.stream is not None:
                covered[piece.stream] += range(piece.start, piece.start + piece.length)
        assert {name: kinds for name, kinds in covered.items() if kinds} == {
            name: list(range(count)) for name, count in counts.items()
        }
        assert sorted(piece.stream for piece in slices if piece.punctuations) == sorted(punctuations)
        assert [piece.first for piece in slices] == [True] + [False] * (len(slices) - 1)
        assert all(piece.entry == 4 for piece in slices)


def entry(number: int, rows: dict[str, int], punctuations: dict[str, int]) -> Entry:
    return Entry(number, 0, Clock({}), rows, punctuations, store=MemoryStore())


def test_punctuations_live_until_they_lapse() -> None:
    fields = (Field("a", BIGINT), Field("ts", TIMESTAMP), Field("b", BIGINT))
    stream = StreamDef("s", fields, 1, None, schemes=(Scheme((0,)), Scheme((2, 0), 5)))
    batch = pa.record_batch(
        {
            "_q": [0, 0, 3, 3],
            "_scheme": pa.array([0, 1, 1, 1], pa.int16()),
            "_t": [1, 2, 3, FOREVER - 2],
            "c0": [7, 8, 9, None],
            "c1": pa.nulls(4, pa.timestamp("us")),
            "c2": [None, 4, 5, 6],
        }
    )

    def punctuated(scheme: int) -> list[dict[str, object]]:
        types = tuple(fields[i].type for i in stream.schemes[scheme].columns)
        node = PunctuationsNode(1, (), types, tuple(range(len(types))), ("s",), (), 0, 0, "", "s", scheme)
        assert KINDS.read(node_to_json(node)) == node
        rows: list[dict[str, object]] = punctuation_delta(stream, batch, node).plus.to_pylist()
        return rows

    assert punctuated(0) == [{"_s": 1, "_e": FOREVER, "c0": 7}]
    assert punctuated(1) == [
        {"_s": 2, "_e": 7, "c0": 4, "c1": 8},
        {"_s": 3, "_e": 8, "c0": 5, "c1": 9},
        {"_s": FOREVER - 2, "_e": FOREVER, "c0": 6, "c1": None},
    ]


def test_a_broadcast_reaches_every_bucket() -> None:
    batch = rows([1, 2, 3])
    to = Route(1, None, (Column(0, BIGINT),), True, None, broadcast=True)
    routed = list(route(batch, DataColumns(batch), to, 3))
    assert [bucket for bucket, _ in routed] == [0, 1, 2]
    assert all(piece["c0"].to_pylist() == [1, 2, 3] for _, piece in routed)
    assert [bucket for bucket, _ in route(batch, DataColumns(batch), to._replace(home=2), 3)] == [2]


def test_every_row_goes_to_the_bucket_of_its_key() -> None:
    batch = rows([1, 2, 3, 1, 2, 1, 9, 9])
    key = (Column(0, BIGINT),)
    by_key: dict[int, set[int]] = defaultdict(set)
    collected: list[int] = []
    for bucket, piece in route(batch, DataColumns(batch), Route(1, None, key, False, None), 3):
        assert piece.schema.names == ["_k", "_s", "_e", "c0"] and piece.num_rows
        for value in piece["c0"].to_pylist():
            by_key[value].add(bucket)
            collected.append(value)
    assert sorted(collected) == sorted(batch["c0"].to_pylist())
    assert all(len(buckets) == 1 for buckets in by_key.values()) and len(set.union(*by_key.values())) > 1
    assert [b for b, _ in route(batch, DataColumns(batch), Route(1, 2, (), False, None), 3)] == [2]


def test_rows_travel_with_the_columns_that_are_needed() -> None:
    batch = rows([1, 2]).append_column("c4", pa.array([7, 8]))
    to = Route(1, None, (Column(4, BIGINT),), True, ("c0",))
    pieces = [piece for _, piece in route(batch, DataColumns(batch), to, 3)]
    assert {tuple(piece.schema.names) for piece in pieces} == {("_k", "_s", "_e", "c0")}
    assert sorted(v for piece in pieces for v in piece["c0"].to_pylist()) == [1, 2]


def test_null_joins_nothing_and_groups_all_the_same() -> None:
    batch = rows([1, 2, 3]).set_column(2, "c0", pa.array([None, 5, None], pa.int64()))
    key = (Column(0, BIGINT),)
    for buckets in (1, 4):
        joins, groups = (Route(1, None, key, drop, None) for drop in (True, False))
        columns = DataColumns(batch)
        joined = [piece["c0"].to_pylist() for _, piece in route(batch, columns, joins, buckets)]
        assert joined == [[5]]
        kept = [v for _, piece in route(batch, columns, groups, buckets) for v in piece["c0"].to_pylist()]
        assert sorted(kept, key=str) == [5, None, None]
        nothing = batch.slice(0, 1)
        assert list(route(nothing, DataColumns(nothing), joins, buckets)) == []


def stream(*, window: int | None, retractable: bool = False, timestamp: bool = False) -> StreamDef:
    fields = (Field("k", BIGINT), Field("ts", TIMESTAMP if timestamp else BIGINT))
    return StreamDef("s", fields, 1, None, window=window, retractable=retractable)


def source(width: int = 2) -> SourceNode:
    types = (BIGINT,) * width
    return SourceNode(1, (), types, tuple(range(width)), ("s",), (), 0, 0, "", "s")


def admitted(times: list[int], signs: list[int], type_: pa.DataType) -> pa.RecordBatch:
    count = len(times)
    return pa.record_batch(
        {
            "_q": pa.array(range(100, 100 + count), pa.int64()),
            "_o": pa.array(signs, pa.int8()),
            "c0": pa.array(range(count), pa.int64()),
            "c1": pa.array(times, type_),
        }
    )


def test_tuples_get_their_lives() -> None:
    times = [-5, 7, FOREVER - 2]
    batch = admitted(times, [1, 1, 1], pa.int64())
    plain = source_delta(stream(window=10), batch, source(), 4)
    assert plain.minus is None and plain.plus.schema.names == ["_s", "_e", "c0", "c1"]
    assert plain.plus["_s"].to_pylist() == times and plain.plus["_e"].to_pylist() == [5, 17, FOREVER]
    assert set(source_delta(stream(window=None), batch, source(), 4).plus["_e"].to_pylist()) == {FOREVER}
    stamped = admitted([7], [1], TIMESTAMP.arrow())
    assert source_delta(stream(window=3, timestamp=True), stamped, source(), 4).plus["_e"].to_pylist() == [10]


def test_negative_tuples_are_told_by_time() -> None:
    delta = source_delta(
        stream(window=10, retractable=True), admitted([1, 2, 3], [1, -1, 1], pa.int64()), source(), 4
    )
    assert delta.plus.to_pylist()[1] == {"_s": 3, "_e": 13, "_i0": 102, "c0": 2, "c1": 3}
    assert delta.minus is not None
    assert delta.minus.to_pylist() == [{"_s": 2, "_e": FOREVER, "_d": 2, "_i0": 101, "c0": 1, "c1": 2}]
    assert np.array_equal(delta.plus["_i0"].to_numpy(), [100, 102])


def test_tuples_of_a_live_network_know_their_entry() -> None:
    batch = admitted([1, 2], [1, -1], pa.int64())
    delta = source_delta(stream(window=10, retractable=True), batch, source(3), 4)
    assert delta.minus is not None
    assert delta.plus["c2"].to_pylist() == delta.minus["c2"].to_pylist() == [4]
    assert source_delta(stream(window=10), batch, source(3), 7).plus["c2"].to_pylist() == [7, 7]
