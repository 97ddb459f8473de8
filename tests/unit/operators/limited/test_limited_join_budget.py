"""One budget for several joins within a memory."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.operators.limited import join_memory
from seine.operators.limited.limited_join import divided
from seine.run import Options, Run
from seine.run_local import LocalResult, run_local
from tests.support.limited_shapes import SHAPES, data, laid_out

BIG, SMALL = SHAPES["star"], SHAPES["self"]


def script(folder: Path) -> str:
    """Two queries of which one tells much more importance than the other."""
    tables = data(Random(4), 90)
    for row in tables["s"]:
        row["imp"] *= 20
    queries = [BIG.query("big"), BIG.query("m", "WITH (memory = 30, shed = 'simp', importance = 'sum')")]
    queries += [SMALL.query("small"), SMALL.query("n", "WITH (memory = 30, shed = 'rand')")]
    return laid_out(folder, tables, queries)


def rows_of(result: LocalResult, query: str) -> list[str]:
    return sorted(json.dumps({**one, "query": ""}) for one in result.records if one["query"] == query)


def test_shares_follow_weights_and_never_exceed_the_budget() -> None:
    rng = Random(1)
    for _ in range(300):
        count = rng.randint(1, 6)
        wishes = [rng.randint(1, 40) for _ in range(count)]
        weights = [rng.choice([0.5, 1.0, 3.0, 100.0]) for _ in range(count)]
        budget = rng.randint(1, 120)
        shares = divided(budget, wishes, weights)
        assert all(0 <= share <= wish for share, wish in zip(shares, wishes, strict=True))
        assert min(budget, sum(wishes)) - count <= sum(shares) <= budget


def test_a_budget_bounds_all_joins_together_however_the_input_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_memory, "_WINDOWS_BETWEEN_POINTS", 1)
    path = script(tmp_path)
    free, roomy = run_local(path), run_local(path, memory=1000)
    assert rows_of(free, "m") == rows_of(roomy, "m") and rows_of(free, "n") == rows_of(roomy, "n")
    runs = [run_local(path, memory=14, batch_rows=rows) for rows in (None, 6, 31)]
    for query, whole in (("m", "big"), ("n", "small")):
        first = rows_of(runs[0], query)
        assert all(rows_of(one, query) == first for one in runs)
        assert first and len(first) < len(rows_of(free, query)) and {*first} <= {*rows_of(free, whole)}
    peaks = [runs[0].stats["queries"][query]["state_rows_peak"] for query in "mn"]
    assert sum(peaks) <= 28 and peaks[0] > 7  # the more important one got more than half of it


def test_all_of_them_together_stay_within_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_memory, "_WINDOWS_BETWEEN_POINTS", 1)
    path = script(tmp_path)
    text = Path(path).read_text()
    for name, shape in (("big", BIG), ("small", SMALL)):
        text = text.replace(shape.query(name), "")
    Path(path).write_text(text)
    stats: dict[str, Any] = run_local(path, memory=14, batch_rows=4).stats
    assert 7 < stats["state_rows"]["peak"] <= 14


def test_a_checkpoint_keeps_its_budget(tmp_path: Path) -> None:
    read = read_script(script(tmp_path))
    Run(read, Options(str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), memory=14)).close()
    with pytest.raises(SeineError, match="another --memory"):
        Run(read, Options(str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), memory=15))
