"""Joins within a memory, against windows that are simulated tuple by tuple."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from seine.algebra.star import SHEDDING_POLICIES
from seine.operators.limited import join_memory, losses
from seine.operators.state.relation_index import RelationIndex
from seine.run_local import LocalResult, run_local
from seine.shedding.policies import NAMES
from tests.support.limited_shapes import (
    SHAPES,
    Played,
    Shape,
    combinations,
    data,
    laid_out,
    play,
    ready,
    record,
    simulated,
)
from tests.support.seeds import seed_range, seeds


def limited(memory: int | str, shed: str = "simp", more: str = "") -> str:
    return f"WITH (memory = {memory}, shed = '{shed}'{more})"


def test_the_names_of_policies_are_those_of_options() -> None:
    assert NAMES == SHEDDING_POLICIES


@seeds(2)
@pytest.mark.parametrize("name", SHAPES)
def test_with_memory_for_everything_a_join_is_exact(name: str, seed: int) -> None:
    shape, rng = SHAPES[name], Random(f"{name}{seed}")
    tables = ready(data(rng, 80 // len(shape.streams)))
    exact = Counter(record(shape, rows) for rows in combinations(shape, tables))
    assert exact
    for steps in (1, 20):
        played = play(shape, tables, limited(10_000, "auto"), rng, steps)
        assert played.reported == exact and played.account.shed == 0


@seeds(2)
@pytest.mark.parametrize("name", ["direct", "star", "star of three", "three alike"])
def test_windows_hold_what_simulated_ones_hold(name: str, seed: int) -> None:
    shape, rng = SHAPES[name], Random(f"{name}{seed}")
    streams, shed = len(shape.streams), 0
    tables = ready(data(rng, 80 // streams))
    exact = combinations(shape, tables)
    for memory in (1, streams, 2 * streams + 1, 4 * streams):
        expected, given_up = simulated(shape, tables, exact, memory // streams)
        for steps in (1, 20):
            played = play(shape, tables, limited(memory), rng, steps)
            assert played.reported == expected and played.account.shed == given_up
            assert max(played.sizes) <= played.account.peak <= memory
        shed += given_up
    assert shed


@pytest.mark.parametrize(
    ("name", "shed"),
    [(name, SHEDDING_POLICIES[(i + j) % 7]) for i, name in enumerate(SHAPES) for j in (0, 2, 5)],
)
def test_results_are_a_subset_however_the_input_is_cut(name: str, shed: str) -> None:
    shape, rng = SHAPES[name], Random(name)
    tables = ready(data(rng, 60))
    exact = play(shape, tables, limited(10_000, shed), rng, 1).reported
    memory = 3 * len(shape.streams)
    first: Played | None = None
    for steps in (1, 4, 30):
        played = play(shape, tables, limited(memory, shed, ", seed = 5, alpha = 7, beta = 0.5"), rng, steps)
        first = first or played
        assert played.reported == first.reported <= exact
        assert replace(played.account, lost=first.account.lost) == first.account
        assert max(played.sizes) <= played.account.peak <= memory
    assert first is not None and first.reported and first.account.shed


@pytest.mark.parametrize("how", ["min", "sum", "product"])
@pytest.mark.parametrize("name", ["star", "self", "star of three", "chain"])
def test_what_is_lost_is_counted_while_all_that_is_shed_is_looked_at(name: str, how: str) -> None:
    shape, rng = SHAPES[name], Random(name)
    tables = ready(data(rng, 30))
    more = f", importance = '{how}'"
    exact = play(shape, tables, limited(10_000, "simp", more), rng, 1).account
    played = play(shape, tables, limited(2 * len(shape.streams), "simp", more), rng, 1).account
    assert exact.lost == 0 < played.lost
    assert played.delivered + played.lost == pytest.approx(exact.delivered)


def test_what_is_lost_is_estimated_without_a_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "LEAST_GHOSTS", 8)
    shape, ratios = SHAPES["direct"], []
    for seed in seed_range(24):
        rng = Random(seed)
        tables = ready(data(rng, 100))
        for row in (*tables["r"], *tables["s"]):  # other lots for each
            row["number"] += 10_007 * seed
        exact = play(shape, tables, limited(10_000), rng, 1).account.delivered
        played = play(shape, tables, limited(6), rng, 20).account
        ratios.append((played.delivered + played.lost) / exact)
    assert len(set(ratios)) > 12 and 0.94 < sum(ratios) / len(ratios) < 1.06


@pytest.mark.parametrize("name", ["text keys", "star"])
def test_bytes_are_tuples_of_the_size_seen_so_far(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(join_memory, "_WINDOWS_BETWEEN_POINTS", 1)
    shape, rng = SHAPES[name], Random(name)
    tables = ready(data(rng, 60))
    exact = play(shape, tables, limited(10_000), rng, 1)
    plays = [play(shape, tables, limited("'900 B'", "dgl"), rng, steps) for steps in (1, 5, 40)]
    assert plays[0].reported == plays[1].reported == plays[2].reported < exact.reported
    assert 2 <= plays[0].account.peak < exact.account.peak
    assert play(shape, tables, limited("'1 MB'", "dgl"), rng, 5).reported == exact.reported


def bag_of(result: LocalResult, shape: Shape, query: str) -> Counter[Any]:
    names = [f"{c}{i}" for i in shape.streams for c in ("ts", "a")]
    return Counter(
        (one["t_start"], one["t_end"], *(one["row"].get(name) for name in names))
        for one in result.records
        if one["query"] == query
    )


@pytest.mark.parametrize("name", ["star", "no equality"])
def test_the_whole_engine_tells_what_the_operator_does(tmp_path: Path, name: str) -> None:
    shape, rng = SHAPES[name], Random(name)
    tables = data(rng)
    path = laid_out(
        tmp_path, tables, [shape.query("q"), shape.query("m", limited(5)), shape.query("n", limited(5))]
    )
    exact = Counter(record(shape, rows) for rows in combinations(shape, ready(tables)))
    expected = play(shape, ready(tables), limited(5), rng, 4)
    assert expected.reported < exact
    for batch_rows in (None, 7):
        result = run_local(path, batch_rows=batch_rows)
        stats = result.stats["queries"]
        assert bag_of(result, shape, "q") == exact
        assert bag_of(result, shape, "m") == bag_of(result, shape, "n") == expected.reported
        assert (stats["m"]["shed"], stats["m"]["state_rows_peak"]) == (
            expected.account.shed,
            expected.account.peak,
        )
        assert stats["m"]["importance"] < stats["q"]["importance"] and stats["q"]["shed"] == 0
        assert result.stats["network"]["joins"] == 2  # those that are alike are one


def test_a_large_relation_costs_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples of a relation that no stream tuple joins with are not looked at, however many there are."""
    looked_at = []
    candidates = RelationIndex.candidates

    def counted(index: RelationIndex, key: Any, count: int) -> Iterator[Any]:
        for rows, tuples in candidates(index, key, count):
            looked_at[-1] += len(rows)
            yield rows, tuples

    monkeypatch.setattr(RelationIndex, "candidates", counted)
    tables = "".join(
        f"CREATE STREAM {name} (ts BIGINT, {key} BIGINT) TIMESTAMP BY ts WINDOW 30 FROM '{name}.jsonl';"
        for name, key in (("r", "a"), ("s", "b"))
    )
    join = "SELECT r.ts AS x, s.ts AS y FROM r, f, s WHERE r.a = f.a AND f.b = s.b"
    script = f"{tables} CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f.jsonl';"
    (tmp_path / "q.sql").write_text(f"{script} CREATE QUERY q WITH (memory = 10) AS {join};")
    for name, key in (("r", "a"), ("s", "b")):
        _lines(tmp_path / f"{name}.jsonl", [{"ts": ts, key: ts * 7 % 20} for ts in range(100)])
    records = []
    for more in (0, 20_000):
        looked_at.append(0)
        facts = [{"a": n, "b": n * 3 % 20} for n in range(20)]
        _lines(tmp_path / "f.jsonl", facts + [{"a": 100 + n, "b": 100 + n} for n in range(more)])
        rows = [one["row"] for one in run_local(str(tmp_path / "q.sql")).records]
        records.append(sorted((row["x"], row["y"]) for row in rows))
    assert records[0] == records[1] != []
    assert looked_at[0] == looked_at[1] > 100


def _lines(path: Path, rows: list[dict[str, int]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("how", ["sum", "product"])
def test_an_importance_beyond_all_numbers_stops_nothing(tmp_path: Path, how: str) -> None:
    """It is infinite, of which JSON knows nothing; what is told is part of the exact result."""
    streams = "".join(
        f"CREATE STREAM {name} (k BIGINT, i DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 9 "
        f"IMPORTANCE BY i FROM '{name}.jsonl';"
        for name in "rs"
    )
    rows = ({"k": n % 3, "i": (0.0, 5e-324, 1e308)[n % 7 % 3], "ts": n // 2} for n in range(60))
    lines = [json.dumps(row) + "\n" for row in rows]
    (tmp_path / "r.jsonl").write_text("".join(lines))
    (tmp_path / "s.jsonl").write_text("".join(lines))
    select = "AS SELECT r.ts AS t, s.ts AS u FROM r, s WHERE r.k = s.k;"
    query = f"CREATE QUERY q WITH (memory = 6, importance = '{how}') {select} CREATE QUERY e {select}"
    path = tmp_path / "x.sql"
    path.write_text(streams + query)
    result = run_local(str(path))
    reported = {name: Counter(str(r["row"]) for r in result.records if r["query"] == name) for name in "qe"}
    assert reported["q"] < reported["e"] and result.stats["queries"]["q"]["importance"] is None
