"""A search that asks too much fails alone, however many share its node: a hot value and a stop-word.

a.k = b.k, and very many tuples of both have k = 0, with the words hot and warm: their trees are the product
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from seine.operators.search import distances
from seine.operators.state.work_budget import WorkBudget
from seine.run_local import LocalResult, run_local
from tests.support.scenario_text import whole_record

TUPLES, HOT_SHARE, GOOD = 250, 0.4, 9
BUDGET = WorkBudget(candidates=100_000)
GREEDY = "CREATE QUERY greedy AS SEARCH 'hot warm' MAX 4 TUPLES;\n"
STOP_WORD = "CREATE QUERY stop AS SEARCH 'the hot' MAX 5 TUPLES;\n"


def write(folder: Path, seed: int, *greedy: str) -> str:
    """A script of good searches and greedy ones, with its streams; its path."""
    rng = Random(seed)
    statements = []
    for stream in "ab":
        lines = [json.dumps(_tuple(rng, ts)) for ts in range(TUPLES)]
        (folder / f"{stream}.jsonl").write_text("\n".join(lines))
        statements.append(
            f"CREATE STREAM {stream} (k BIGINT, j BIGINT, words STRING, ts BIGINT) TIMESTAMP BY ts "
            f"WINDOW 1000 FROM '{stream}.jsonl';\n"
        )
    statements += ["CREATE JOIN a.k = b.k;\n", "CREATE JOIN a.j = b.j;\n"]
    statements += [
        f"CREATE QUERY good{i} AS SEARCH 'w{i} w{i + 1}' MAX {2 + i % 3} TUPLES;\n" for i in range(GOOD)
    ]
    path = folder / "search.sql"
    path.write_text("".join([*statements, *greedy]))
    return str(path)


def _tuple(rng: Random, ts: int) -> dict[str, object]:
    hot = rng.random() < HOT_SHARE
    words = ["the"] if rng.random() < 0.9 else []
    words += [rng.choice(["hot", "warm"])] if hot and rng.random() < 0.5 else []
    words += [] if hot else [f"w{rng.randrange(GOOD + 1)}"]
    k, j = (0, None) if hot else (rng.randrange(1, 60), rng.randrange(60))
    return {"k": k, "j": j, "words": " ".join(words), "ts": ts}


def failures(result: LocalResult) -> dict[str, str]:
    return {
        name: figures["failed"] for name, figures in result.stats["queries"].items() if "failed" in figures
    }


@pytest.mark.parametrize(("batch_rows", "buckets"), [(None, 1), (None, 3), (97, 2)])
def test_only_the_greedy_ones_fail(tmp_path: Path, batch_rows: int | None, buckets: int) -> None:
    alone = run_local(write(tmp_path, 1))
    path = write(tmp_path, 1, GREEDY, STOP_WORD)
    result = run_local(path, batch_rows=batch_rows, buckets=buckets, budget=BUDGET)
    failed = failures(result)
    assert {*failed} == {"greedy", "stop"}
    assert all("formed more than 100,000 candidates in one micro-batch" in line for line in failed.values())
    good = [record for record in result.records if record["query"].startswith("good")]
    assert sorted(map(str, map(whole_record, good))) == sorted(map(str, map(whole_record, alone.records)))
    assert len(good) > 100


def test_reach_of_a_hot_value_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms that would cost too much lose their reach; nobody fails, and no answer changes."""
    path = write(tmp_path, 2)
    usual = run_local(path, budget=BUDGET)
    monkeypatch.setattr(distances, "LEAST_REACH_OF_STEP", 50)
    monkeypatch.setattr(distances, "REACH_OF_TUPLE", 0)
    bounded = run_local(path, budget=WorkBudget())
    assert not failures(usual) and not failures(bounded) and len(usual.records) > 100
    assert sorted(map(str, map(whole_record, usual.records))) == sorted(
        map(str, map(whole_record, bounded.records))
    )
