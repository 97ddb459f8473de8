"""A query's own window in FROM: the answer is that over a stream which is declared with that window."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.errors import SeineError
from seine.network.network import Network
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.support.front_end import parse
from tests.support.seeds import seeds

QUERIES = [
    "SELECT x.k, x.ts FROM s x{w0} WHERE x.v > 0",
    "SELECT x.k, COUNT(*) AS n, MAX(x.v) AS m FROM s x{w0} GROUP BY x.k",
    "SELECT DISTINCT x.k FROM s x{w0}",
    "SELECT x.k, x.ts AS a, y.ts AS b FROM s AS x{w0} JOIN t y{w1} ON x.k = y.k WHERE x.v > y.v",
    "SELECT x.k, SUM(y.v) AS n FROM s x{w0}, t y{w1} WHERE x.k = y.k GROUP BY x.k",
    "SELECT x.ts AS a, y.ts AS b FROM s x{w0}, s y{w0} WHERE x.k = y.k AND x.ts < y.ts",
    "SELECT x.ts AS a, y.ts AS b, z.ts AS c FROM s x{w0}, t y{w1}, s z{w0} WHERE x.k = y.k AND y.k = z.k",
    "SELECT k FROM s{w0} EXCEPT SELECT k FROM t{w1}",
    "SELECT x.k, x.ts FROM s x{w0} WHERE x.v > (SELECT AVG(y.v) FROM t y{w1})",
    "SELECT x.k, COUNT(*) AS n FROM s x{w0}, (SELECT DISTINCT k FROM t{w1}) y WHERE x.k = y.k GROUP BY x.k",
]
FINAL = "SELECT x.k, COUNT(*) AS n, MAX(x.v) AS m FROM s x{w0} GROUP BY x.k"


def _lines(rng: Random, count: int, retractable: bool) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for time in sorted(rng.randint(0, 60) for _ in range(count)):
        line = {"k": rng.randint(0, 4), "v": rng.randint(-3, 5), "ts": time}
        if retractable:
            line["v"] = len(lines)  # which tuple is deleted follows from the declared window
        lines.append(line)
        if retractable and rng.random() < 0.3:
            lines.append({"@op": "-", **rng.choice([one for one in lines if "@op" not in one]), "ts": time})
    return lines


def _answers(
    folder: Path, rng: Random, windows: dict[str, int | None], clause: str, statements: list[str]
) -> list[str]:
    streams = [
        f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts"
        f" {'' if window is None else f'WINDOW {window}'} {clause} FROM '{name}.jsonl';"
        for name, window in windows.items()
    ]
    (folder / "script.sql").write_text("\n".join([*streams, *statements]))
    rows = rng.choice([4, 17, None])
    records = run_local(str(folder / "script.sql"), batch_rows=rows, buckets=rng.choice([1, 2])).records
    return sorted(json.dumps(record) for record in records)


@seeds(1)
@pytest.mark.parametrize("declared", [None, 40])
def test_answers_are_those_of_a_declared_window(declared: int | None, seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    retractable = declared is not None and rng.random() < 0.4
    clause = "RETRACTABLE" if retractable else ""
    for name in ("s", "t"):
        lines = _lines(rng, 40, retractable)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = "WITH (unbounded = true)"
    narrowed: list[str] = []
    expected: list[str] = []
    for number, sql in enumerate(QUERIES):
        w0, w1 = rng.randint(1, 30), rng.randint(1, 30)
        narrow = sql.format(w0=f" WINDOW {w0}", w1=f" WINDOW {w1}")
        narrowed.append(f"CREATE QUERY q{number} {options} AS {narrow};")
        plain = f"CREATE QUERY q{number} {options} AS {sql.format(w0='', w1='')};"
        expected += _answers(tmp_path, rng, {"s": w0, "t": w1}, clause, [plain])
    assert _answers(tmp_path, rng, {"s": declared, "t": declared}, clause, narrowed) == sorted(expected)
    assert len(expected) > 60


@seeds(2)
def test_final_groups(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    lines = _lines(rng, 60, False)
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    final = "CREATE QUERY q WITH (emit = 'final') AS "
    window = rng.randint(1, 9)
    narrow = _answers(tmp_path, rng, {"s": None}, "", [final + FINAL.format(w0=f" WINDOW {window}") + ";"])
    declared = _answers(tmp_path, rng, {"s": window}, "", [final + FINAL.format(w0="") + ";"])
    assert narrow == declared and len(narrow) > 5


STREAMS = """\
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';
CREATE STREAM t (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 't';
CREATE STREAM u (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
CREATE STREAM z (k BIGINT, at TIMESTAMP) TIMESTAMP BY at FROM 'z';
CREATE RELATION r (k BIGINT) FROM 'r';
"""


@pytest.mark.parametrize(
    ("sql", "safe"),
    [
        ("SELECT k, COUNT(*) AS n FROM s WINDOW 5 GROUP BY k", True),
        ("SELECT k, COUNT(*) AS n FROM z WINDOW INTERVAL '5' MINUTE GROUP BY k", True),
        ("SELECT x.k FROM s x WINDOW 5, s y WINDOW 6 WHERE x.k = y.k", True),
        ("SELECT x.k FROM s x WINDOW 5, s y WHERE x.k = y.k", False),
        ("SELECT x.k FROM s x WINDOW 5, t y WHERE x.k = y.k", True),
    ],
)
def test_safety(sql: str, safe: bool) -> None:
    assert verdict(parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"]).safe == safe


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("t WINDOW 21", "longer than that of stream t"),
        ("t WINDOW 0", "more than 0"),
        ("t WINDOW INTERVAL '5' MINUTE", "constants such as 10"),
        ("z WINDOW 5", "constants such as '10 minutes'"),
        ("s, r WINDOW 5", "of a stream"),
    ],
)
def test_refusals(item: str, message: str) -> None:
    with pytest.raises(SeineError, match=message):
        parse(f"{STREAMS}CREATE QUERY q AS SELECT * FROM {item};")


@pytest.mark.parametrize("sql", [QUERIES[1], QUERIES[3], QUERIES[4]])
def test_lengths_are_rows(sql: str) -> None:
    """However many lengths there are, the nodes are those of two."""
    sizes = []
    for count in (2, 40):
        network = Network()
        for i in range(count):
            narrow = sql.format(w0=f" WINDOW {i + 2}", w1=f" WINDOW {i + 3}")
            script = parse(f"{STREAMS}CREATE QUERY q{i} AS {narrow.replace('t y WINDOW', 'u y WINDOW')};")
            network.add(script.declarations.queries[f"q{i}"], 0)
        network.commit()
        sizes.append(len(network.nodes))
    assert sizes[0] == sizes[1]
