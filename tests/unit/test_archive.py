"""What `seine optimum` reads of archived streams, against the engine's own exact answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.archive import optimum_of
from seine.cli.main import main
from seine.frontends.script.parser import read_script
from seine.run_local import run_local
from tests.support.paths import ROOT

R = "CREATE STREAM r (ts {time}, a BIGINT, imp DOUBLE) TIMESTAMP BY ts WINDOW {window} {more} FROM 'r.jsonl';"
S = "CREATE STREAM s (ts {time}, b BIGINT, imp BIGINT) TIMESTAMP BY ts WINDOW {window} {more} FROM 's.jsonl';"
F = """CREATE RELATION f (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT)
VALID FROM begin TO "end" FROM 'f.jsonl';"""
G = "CREATE RELATION g (b BIGINT, c BIGINT) FROM 'g.jsonl';"

EXAMPLE = ROOT / "docs" / "examples" / "star.sql"
JOINS = {
    "star": "FROM r, f, s WHERE r.a = f.a AND f.b = s.b",
    "direct": "FROM r, s WHERE r.a = s.b",
    "conditions": "FROM r, f, s WHERE r.a = f.a AND f.b = s.b "
    "AND r.imp >= 1.5 AND s.ts <> r.ts AND r.a < s.b + 3",
    "self": "FROM r, r AS o WHERE r.a = o.a AND r.ts < o.ts",
    "no equality": "FROM r, s WHERE r.a < s.b AND s.imp > 3",
    "two relations": "FROM r, f, g, s WHERE r.a = f.a AND f.b = g.b AND g.c = s.b",
    "sub-queries": "FROM (SELECT * FROM r WHERE a > 1) r, f, (SELECT * FROM s WHERE b > 1) s "
    "WHERE r.a = f.a AND f.b = s.b",
    "other types": "FROM r, s WHERE r.imp = s.b",
}


def write(folder: Path, name: str, rows: list[dict[str, Any]], rubbish: str = "") -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows) + rubbish)


def data(folder: Path, seed: int) -> None:
    rng = Random(seed)
    for name, key in (("r", "a"), ("s", "b")):
        times = sorted(rng.choices(range(60), k=50))
        rows = [{"ts": t, key: rng.randrange(6), "imp": rng.choice((1, 2, 3, 5))} for t in times]
        rows.insert(25, {"ts": 0, key: 1, "imp": 9})  # late
        write(folder, f"{name}.jsonl", rows, '{"ts": "broken"}\n')
    pairs = [{"a": rng.randrange(6), "b": rng.randrange(6), "begin": rng.randrange(30)} for _ in range(9)]
    write(folder, "f.jsonl", [{**pair, "end": rng.choice((None, 40))} for pair in pairs])
    write(folder, "g.jsonl", [{"b": rng.randrange(6), "c": rng.randrange(6)} for _ in range(6)])


def script(folder: Path, join: str, options: str = "memory = 6", more: str = "IMPORTANCE BY imp") -> str:
    path = folder / "script.sql"
    tables = "\n".join([R, S, F, G]).format(time="BIGINT", window="8", more=more)
    both = "SELECT r.ts AS t, r.a AS a " + join
    path.write_text(f"{tables}\nCREATE QUERY q WITH ({options}) AS {both};\nCREATE QUERY exact AS {both};")
    return str(path)


@pytest.mark.parametrize("join", JOINS.values(), ids=list(JOINS))
def test_it_knows_the_exact_answer(tmp_path: Path, join: str) -> None:
    data(tmp_path, 1)
    path = script(tmp_path, join, "memory = 2")
    result = run_local(path).stats["queries"]["exact"]
    best = optimum_of(read_script(path).declarations.queries["q"])
    assert best.exact_outputs == result["outputs"] > 10
    assert best.exact_importance == pytest.approx(result["importance"])
    assert 0 < best.importance < best.exact_importance


def test_memory_for_everything_is_exact(tmp_path: Path) -> None:
    data(tmp_path, 1)
    path = script(tmp_path, JOINS["star"], "memory = 100, importance = 'product'")
    best = optimum_of(read_script(path).declarations.queries["q"])
    assert best.importance == best.exact_importance and best.outputs == best.exact_outputs
    assert all((window.until >= window.ts).all() for window in best.windows)


def test_the_most_results_may_be_less_important() -> None:
    query = read_script(str(EXAMPLE)).declarations.queries["limited"]
    by_importance, by_outputs = optimum_of(query), optimum_of(query, by_outputs=True)
    assert (by_importance.outputs, by_importance.importance) == (11, 38)
    assert by_outputs.outputs == 12
    assert by_outputs.importance < 38


def test_the_most_results_need_no_importance(tmp_path: Path) -> None:
    data(tmp_path, 1)
    collected = []
    for more in ("", "IMPORTANCE BY imp"):
        declared = read_script(script(tmp_path, JOINS["star"], "memory = 2", more)).declarations
        collected.append(optimum_of(declared.queries["q"], by_outputs=True))
    best, reported = collected
    assert best.outputs == reported.outputs == best.importance > 0
    assert best.exact_outputs == reported.exact_outputs == best.exact_importance > best.outputs


def test_importances_beyond_all_numbers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "r.jsonl", [{"ts": ts, "a": 1, "imp": 1e308} for ts in range(4)])
    write(tmp_path, "s.jsonl", [{"ts": ts, "b": 1, "imp": 1e308} for ts in range(4)])
    path = script(tmp_path, "FROM r, s WHERE r.a = s.b", "memory = 4")
    Path(path).write_text(re.sub(r"imp \S+\)", "imp DOUBLE)", Path(path).read_text()))
    assert main(["optimum", path, "q"]) == 1
    assert "add up to more than any number" in capsys.readouterr().err


def test_a_stream_named_like_the_instant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data(tmp_path, 1)
    path = script(tmp_path, "FROM r AS t, s WHERE t.a = s.b", "memory = 4")
    Path(path).write_text(Path(path).read_text().replace("r.ts AS t, r.a", "t.ts AS t, t.a"))
    assert main(["optimum", path, "q", "--json"]) == 0
    states = json.loads(capsys.readouterr().out)["states"]
    assert len(states) > 5
    assert all(set(state) == {"t", "t (stream)", "s"} and isinstance(state["t"], int) for state in states)


def test_timestamps_are_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = [f"2026-01-01T00:00:{second:02d}Z" for second in (1, 2, 3)]
    write(tmp_path, "r.jsonl", [{"ts": time, "a": 1, "imp": 1} for time in times])
    write(tmp_path, "s.jsonl", [{"ts": time, "b": 1, "imp": 1} for time in times])
    path = tmp_path / "script.sql"
    tables = "\n".join([R, S]).format(
        time="TIMESTAMP", window="INTERVAL '2' SECOND", more="IMPORTANCE BY imp"
    )
    path.write_text(f"{tables} CREATE QUERY q WITH (memory = 4) AS SELECT r.ts FROM r, s WHERE r.a = s.b;")
    assert main(["optimum", str(path), "Q", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["outputs"], printed["share"]) == (7, 1.0)
    assert printed["states"][0] == {"t": "2026-01-01T00:00:01Z", "r": [0], "s": [0]}


THREE = {
    "one key": "FROM r, s, r AS o WHERE r.a = s.b AND o.a = r.a AND r.imp >= 2 AND o.imp >= 2",
    "a chain": "FROM r, f, s, g, s AS o WHERE r.a = f.a AND f.b = s.b AND s.b = g.b AND g.c = o.b",
}


@pytest.mark.parametrize("join", THREE.values(), ids=list(THREE))
def test_three_streams(tmp_path: Path, join: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No policy is above the bound, nor the choice that it comes with, which keeps within the memory."""
    data(tmp_path, 1)
    reported = {}
    for shed in ("auto", "rand", "simp"):
        path = script(tmp_path, join, f"memory = 9, shed = '{shed}'")
        reported[shed] = run_local(path).stats["queries"]
    assert main(["optimum", path, "q", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    exact = reported["auto"]["exact"]
    assert best["exact"] == {"importance": pytest.approx(exact["importance"]), "outputs": exact["outputs"]}
    assert best["capacity"] == 3
    assert all(len(held) <= 3 for state in best["states"] for name, held in state.items() if name != "t")
    assert 0 < best["importance"] <= best["bound"] < exact["importance"]
    assert best["bound"] < 1.25 * best["importance"]
    for shed, queries in reported.items():
        assert queries["q"]["importance"] <= best["importance"], shed
    assert main(["optimum", path, "q"]) == 0
    printed = capsys.readouterr().out
    assert ("nothing exceeds" in printed) == (best["importance"] < best["bound"])


@pytest.mark.parametrize(
    ("join", "options", "more", "message"),
    [
        (JOINS["star"], "limit = 5", "IMPORTANCE BY imp", "has no memory limit"),
        (JOINS["star"], "memory = '1 MB'", "IMPORTANCE BY imp", "is in bytes"),
        (JOINS["star"], "memory = 4", "", "has an importance"),
        ("FROM r, f WHERE r.a = f.a", "memory = 4", "IMPORTANCE BY imp", "has 1 stream"),
    ],
)
def test_what_it_does_not_know_it_says(
    tmp_path: Path, join: str, options: str, more: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data(tmp_path, 1)
    assert main(["optimum", script(tmp_path, join, options, more), "q"]) == 1
    printed = capsys.readouterr().err.splitlines()
    assert message in printed[0] and printed[1].startswith("  hint:")


def test_a_query_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data(tmp_path, 1)
    assert main(["optimum", script(tmp_path, JOINS["star"]), "other"]) == 1
    assert "queries: exact, q" in capsys.readouterr().err


def test_sources_without_a_tuple(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data(tmp_path, 1)
    write(tmp_path, "s.jsonl", [])
    assert main(["optimum", script(tmp_path, JOINS["star"]), "q"]) == 0
    assert "importance 0 of 0 (all)" in capsys.readouterr().out
