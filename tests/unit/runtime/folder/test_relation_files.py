"""Relations that are larger than memory: loaded, indexed and looked up in pieces, with the same answers."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type
from seine.errors import SeineError
from seine.intake import relations
from seine.network.network import Network
from seine.operators.join.combination import key_columns
from seine.operators.join.lookup import index_relation
from seine.operators.state import relation_index
from seine.operators.state.relation_index import NUMBER, RelationIndex, open_run, write_run
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.run_local import run_local
from seine.runtime.folder import relation_files
from seine.runtime.folder.relation_files import RelationFiles
from seine.runtime.folder.versions import Versions
from seine.storage.local import LocalStore
from tests.support.seeds import seeds

MONEY = Type(Kind.DECIMAL, 20, 2)
TYPES = (BIGINT, INT, DOUBLE, STRING, MONEY, BOOLEAN, DATE, TIMESTAMP)
VALUES: dict[Type, list[Any]] = {
    BIGINT: [0, 1, -1, 2**63 - 1, None],
    INT: [0, 1, -(2**31), 7, None],
    DOUBLE: [0.0, -0.0, float("nan"), 1.5, None],
    STRING: ["", "a", "é", "x" * 200, None],
    MONEY: [Decimal("0.00"), Decimal("-1.25"), Decimal("123456789012345678.90"), None],
    BOOLEAN: [True, False, None],
    DATE: [0, 1, -5, None],
    TIMESTAMP: [0, 1, -(10**15), None],
}
KEYS: list[tuple[Expression, ...]] = [
    *[(Column(i, type_),) for i, type_ in enumerate(TYPES)],
    (Column(0, BIGINT), Column(3, STRING)),
    (Column(2, DOUBLE), Column(4, MONEY), Column(5, BOOLEAN)),
    (resolve_call("add", [Column(1, INT), literal(1)]),),
]


def tuples(rng: np.random.Generator, count: int) -> pa.RecordBatch:
    arrays = []
    for type_ in TYPES:
        values = VALUES[type_]
        arrays.append(pa.array([values[i] for i in rng.integers(0, len(values), count)], type_.arrow()))
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(TYPES))])


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every relation counts as large, and pieces are short."""
    monkeypatch.setattr(relation_files, "MOST_TUPLES_IN_MEMORY", 0)
    monkeypatch.setattr(relation_index, "CHUNK", 7)
    monkeypatch.setattr(relation_index, "CHUNK", 7)
    monkeypatch.setattr(relations, "MOST_BYTES_IN_MEMORY", 0)


def _runs(rng: np.random.Generator) -> Iterator[np.ndarray]:
    for count in (0, 1, 2, 3, 8, 1000):
        yield rng.integers(-(2**63), 2**63 - 1, count)
    few = rng.integers(-(2**63), 2**63 - 1, 3)
    yield few[rng.integers(0, 3, 500)]
    large = rng.integers(-(2**63), 2**63 - 1, 300_000)
    large[rng.integers(0, 300_000, 100_000)] = large[0]
    yield large


def test_a_run_in_a_file_is_the_one_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for keys in _runs(rng):
        monkeypatch.setattr(relation_index, "CHUNK", 1 << 16 if len(keys) > 1000 else 7)
        numbers = np.arange(len(keys))
        cuts = np.sort(rng.integers(0, len(keys) + 1, 5))
        pieces = zip(np.split(keys, cuts), np.split(numbers, cuts), strict=True)
        write_run(str(tmp_path / "run"), pieces)
        expected = SortedRun.of(pa.record_batch({KEY: keys, NUMBER: numbers}), KEY)
        assert open_run(str(tmp_path / "run")).batch.equals(expected.batch)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(bytes(30))
    with pytest.raises(SeineError, match="run' is damaged"):
        open_run(str(tmp_path / "run"))


def _files(folder: Path, relation: pa.RecordBatch, version: int = 0) -> RelationFiles:
    """A relation of a version, whose indexes are in the same cache as those of others."""
    store, network = LocalStore(str(folder / "store")), Network()
    network.version = version
    Versions(store).save(network, [], {"r": relation})
    return RelationFiles(store, Versions(store).load(version)[0].relations, str(folder / "cache"))


def _pairs(index: RelationIndex, key: list[pa.Array], count: int) -> list[tuple[int, int]]:
    pairs = [zip(*(a.tolist() for a in candidate), strict=True) for candidate in index.candidates(key, count)]
    return [pair for candidate in pairs for pair in candidate]


def _plain(value: Any) -> Any:
    """A value whose equality is that of keys: -0.0 is 0.0, and a NaN is any other."""
    return "NaN" if isinstance(value, float) and value != value else value


def _brute(ours: list[pa.Array], theirs: list[pa.Array]) -> set[tuple[int, int]]:
    """Pairs of rows whose keys are equal and have no NULL."""
    left, right = (
        [tuple(map(_plain, row)) for row in zip(*(a.to_pylist() for a in key), strict=True)]
        for key in (ours, theirs)
    )
    return {
        (i, j)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
        if one == other and None not in one
    }


@pytest.mark.usefixtures("in_pieces")
@seeds(3)
def test_lookups_by_every_type_of_key_equal_brute_force(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    relation, asking = tuples(rng, 60), tuples(rng, 40)
    files = _files(tmp_path, relation)
    for key in KEYS:
        ours = key_columns(asking, key)
        pairs = _pairs(files.index("r", key), ours, asking.num_rows)
        assert pairs == _pairs(index_relation(relation, key), ours, asking.num_rows)
        assert len(pairs) == len(set(pairs)) > 0
        assert set(pairs) == _brute(ours, key_columns(relation, key))
    assert len(list(tmp_path.rglob("*.index"))) == len(KEYS)


@pytest.mark.usefixtures("in_pieces")
def test_all_tuples_are_found_without_a_key_and_none_in_an_empty_relation(tmp_path: Path) -> None:
    three, none = (tuples(np.random.default_rng(1), count) for count in (3, 0))
    assert _pairs(_files(tmp_path, three).index("r", ()), [], 1) == [(0, 0), (0, 1), (0, 2)]
    assert _pairs(_files(tmp_path, none, 1).index("r", KEYS[0]), [pa.array([1])], 1) == []


@pytest.mark.usefixtures("in_pieces")
def test_an_index_goes_with_that_of_the_next_version(tmp_path: Path) -> None:
    """It is found as long as no other tuples are indexed, and those never meet the index of others."""
    first = _files(tmp_path, pa.record_batch({"c0": pa.array([1, 2, 3])}), 0)
    other = _files(tmp_path, pa.record_batch({"c0": pa.array([4, 1])}), 1)
    for files, place in ((first, 0), (other, 1)):
        for key in ((Column(0, BIGINT),), (Column(0, BIGINT), Column(0, BIGINT))):
            index = files.index("r", key)
            assert _pairs(index, [pa.array([1])] * len(key), 1) == [(0, place)]
        assert len(list(tmp_path.rglob("*.index"))) == 2
    assert _pairs(first.index("r", (Column(0, BIGINT),)), [pa.array([1])], 1) == [(0, 0)]


@pytest.mark.usefixtures("in_pieces")
def test_an_index_is_built_by_one_of_those_who_ask_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, built = _files(tmp_path, tuples(np.random.default_rng(1), 1000)), []
    build = relation_files.write_index

    def noted(*args: Any) -> None:
        built.append(args[0])
        build(*args)

    monkeypatch.setattr(relation_files, "write_index", noted)
    with ThreadPoolExecutor(4) as pool:
        asking = [RelationFiles(files._store, files._names, str(tmp_path / "cache")) for _ in range(4)]
        futures = [pool.submit(one.index, "r", KEYS[0]) for one in asking]
        answers = [_pairs(one.result(), [pa.array([1])], 1) for one in futures]
    assert len(built) == 1
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.usefixtures("in_pieces")
@seeds(3)
def test_batches_gathered_in_files_are_those_in_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    batches = [tuples(rng, int(count) + 3)[2:] for count in rng.integers(0, 40, 12)]
    whole = pa.concat_batches(batches)
    gathered = relations.concatenate_batches("relation r", whole.schema, iter(batches))
    gathered.validate(full=True)
    assert gathered.schema.equals(whole.schema)
    assert repr(gathered.to_pylist()) == repr(whole.to_pylist())  # in which a NaN is a NaN
    assert [column.null_count for column in gathered.columns] == [c.null_count for c in whole.columns]
    monkeypatch.setattr(relations, "MOST_ROWS_OR_BYTES", 300)
    with pytest.raises(SeineError, match="column 4 of relation r has more than 300 bytes of text"):
        relations.concatenate_batches("relation r", whole.schema, iter(batches))


def test_a_large_relation_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaded, written, indexed and looked up: 2 million tuples of 60 bytes, and 44 MB of index."""
    bound, piece, pieces = 48 << 20, 50_000, 40
    monkeypatch.setattr(relations, "MOST_BYTES_IN_MEMORY", 4 << 20)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        schema = pa.schema([("c0", pa.int64()), ("c1", pa.string())])
        batches = (_piece(start, piece, schema) for start in range(0, piece * pieces, piece))
        files = _files(tmp_path, relations.concatenate_batches("relation r", schema, batches))
        index = files.index("r", (Column(1, STRING),))
        wanted = np.random.default_rng(1).integers(0, piece * pieces, 1000)
        [(rows, matched)] = index.candidates([_texts(wanted)], 1000)
        assert index.batch.column(0).take(pa.array(matched)).to_pylist() == wanted[rows].tolist()
        assert len(rows) == 1000
        peak, size = tracemalloc.get_traced_memory()[1] + pool.max_memory(), files.tuples("r").nbytes
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert size > 2 * bound
    assert peak < bound


def _texts(numbers: np.ndarray) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 48, "0")


def _piece(start: int, count: int, schema: pa.Schema) -> pa.RecordBatch:
    numbers = np.arange(start, start + count)
    return pa.RecordBatch.from_arrays([pa.array(numbers), _texts(numbers)], schema=schema)


SCRIPT = """
CREATE STREAM s (ts BIGINT, k BIGINT, n STRING) TIMESTAMP BY ts WINDOW 20 FROM 's.jsonl';
CREATE RELATION j (k BIGINT, v BIGINT, b BIGINT, e BIGINT) VALID FROM b TO e FROM 'j.jsonl';
CREATE RELATION c (n STRING, v DOUBLE) FROM 'c.csv' FORMAT CSV;
CREATE RELATION p (k BIGINT, n STRING, v BOOLEAN) FROM 'p.parquet' FORMAT PARQUET;
CREATE QUERY one AS SELECT s.ts AS ts, j.v AS v FROM s, j WHERE s.k = j.k;
CREATE QUERY two AS SELECT s.ts AS ts, c.v AS v, p.v AS w FROM s, c, p
  WHERE s.n = c.n AND s.k = p.k AND p.n = s.n;
CREATE QUERY all_of AS SELECT s.ts AS ts, p.n AS n FROM s, p WHERE s.ts < 3;
CREATE QUERY star WITH (memory = 9, shed = 'simp') AS
  SELECT x.ts AS ts, y.ts AS other, j.v AS v FROM s x, j, s y WHERE x.k = j.k AND j.v = y.k;
"""


def _lay(folder: Path) -> str:
    def line(**values: Any) -> str:
        return json.dumps(values) + "\n"

    (folder / "s.jsonl").write_text("".join(line(ts=i, k=i * 7 % 10, n=f"n{i % 6}") for i in range(60)))
    facts = [line(k=i % 10, v=i % 7, b=i, e=i + 30 if i % 9 else i - 1) for i in range(50)]
    (folder / "j.jsonl").write_text("".join([*facts, "no fact\n", line(k=None, v=1, b=0, e=9)]))
    (folder / "c.csv").write_text("n,v\n" + "".join(f"n{i % 8},{i}.5\n" for i in range(30)) + "n1,x\n,7\n")
    numbers = list(range(40))
    columns = {"k": [i % 11 for i in numbers], "n": [f"n{i % 6}" for i in numbers], "v": [None, True] * 20}
    pq.write_table(pa.table(columns), folder / "p.parquet", row_group_size=9)
    (folder / "script.sql").write_text(SCRIPT)
    return str(folder / "script.sql")


def test_a_run_with_relations_in_files_is_the_one_with_them_in_memory(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    script = _lay(tmp_path)
    expected = run_local(script, batch_rows=13)
    request.getfixturevalue("in_pieces")
    result = run_local(script, batch_rows=13)
    assert result.records == expected.records
    assert result.dead == expected.dead
    assert {record["query"] for record in result.records} == {"one", "two", "all_of", "star"}
    assert Counter(letter["stream"] for letter in result.dead) == {"j": 7, "c": 1}
