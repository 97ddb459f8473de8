"""A shared node of documents that emits too much: the queries for which it does fail, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.operators.documents import operand_rows
from seine.operators.state.work_budget import WorkBudget
from seine.run_local import LocalResult, run_local

STREAM = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';\n"
MANY_PAIRS = """\
CREATE QUERY greedy AS XSCL $$ SELECT y FROM s//all->x JOIN{x=y, INF} s//all->y $$;
CREATE QUERY twin AS XSCL $$ SELECT y FROM s//all->x FOLLOWED BY{x=y, INF} s//all->y $$;
CREATE QUERY modest AS XSCL $$ SELECT y FROM s//rare->x FOLLOWED BY{x=y, INF} s//rare->y $$;
"""
LARGE_RESULTS = """\
CREATE QUERY greedy AS XSCL $$ s/d->x FOLLOWED BY{x//rare=z, INF} s/d->y[.//rare->z][.//*->u][.//*->v] $$;
CREATE QUERY modest AS XSCL $$ SELECT y FROM s//rare->x FOLLOWED BY{x=y, INF} s//rare->y $$;
CREATE QUERY alone AS XSCL $$ s//rare $$;
"""


def run(folder: Path, queries: str, size: int, budget: int) -> LocalResult:
    texts = [f"<d><all>v</all><rare>{i // 2}</rare><t>{'x' * size}</t></d>" for i in range(40)]
    lines = [json.dumps({"doc": text, "ts": ts}) for ts, text in enumerate(texts)]
    (folder / "s.jsonl").write_text("\n".join(lines))
    (folder / "script.sql").write_text(STREAM + queries.replace("AS XSCL", "WITH (unbounded = true) AS XSCL"))
    return run_local(str(folder / "script.sql"), budget=WorkBudget(bytes=budget))


def failed(result: LocalResult) -> set[str]:
    return {name for name, figures in result.stats["queries"].items() if "failed" in figures}


def outputs(result: LocalResult) -> dict[str, int]:
    return {name: figures["outputs"] for name, figures in result.stats["queries"].items()}


def test_those_whose_class_has_most_bytes(tmp_path: Path) -> None:
    """780 pairs of documents of 2,000 characters, of which 20 have a rare value in common."""
    result = run(tmp_path, MANY_PAIRS, 2_000, 1_000_000)
    assert failed(result) == {"greedy", "twin"}
    assert outputs(result)["modest"] == 20
    assert not failed(run(tmp_path, MANY_PAIRS, 2_000, 20_000_000))


def test_those_whose_form_has_most_bytes(tmp_path: Path) -> None:
    result = run(tmp_path, LARGE_RESULTS, 2_000, 400_000)
    assert failed(result) == {"greedy"}
    assert outputs(result)["modest"] == 20 and outputs(result)["alone"] == 40


def test_few_bytes_at_once_change_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(tmp_path, MANY_PAIRS, 10, 1 << 30)
    monkeypatch.setattr(operand_rows, "MOST_BYTES_AT_ONCE", 150)
    pieces = run(tmp_path, MANY_PAIRS, 10, 1 << 30)
    assert outputs(whole) == {"greedy": 1560, "twin": 780, "modest": 20}
    assert sorted(map(str, whole.records)) == sorted(map(str, pieces.records))
