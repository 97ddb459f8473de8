"""A script in one process gives the same answers whatever the number of buckets and the size of batches."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import LocalHost, LocalResult, run_local
from tests.support.seeds import seeds

SCRIPT = """
CREATE STREAM a (k BIGINT, v DOUBLE, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 12 LATENESS 3 FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 RETRACTABLE FROM 'b.jsonl';
CREATE RELATION r (k BIGINT, name STRING) FROM 'r.jsonl';
CREATE QUERY joined AS SELECT a.k, a.v, b.ts FROM a, b WHERE a.k = b.k AND a.v > 1;
CREATE QUERY named AS SELECT r.name, a.s FROM a, r WHERE a.k = r.k AND a.s LIKE 'x%';
CREATE QUERY counted AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM a GROUP BY k;
CREATE QUERY one AS SELECT COUNT(*) AS n FROM b;
CREATE QUERY both AS SELECT k FROM a UNION SELECT k FROM b;
CREATE QUERY rest AS SELECT k FROM a EXCEPT SELECT k FROM b;
CREATE QUERY kept WITH (memory = 9, shed = 'rand', seed = 3) AS
  SELECT x.k, x.ts, y.ts AS later FROM a x, a y WHERE x.k = y.k AND x.ts < y.ts;
CREATE QUERY best WITH (memory = 8) AS
  SELECT r.name, x.ts, y.ts AS later FROM a x, r, a y WHERE x.k = r.k AND r.k = y.k AND x.v < y.v;
CREATE QUERY few WITH (limit = 3) AS SELECT k FROM a WHERE v >= 0;
"""
SELECTIONS = "".join(
    f"CREATE QUERY sel{i} AS SELECT k, ts FROM a WHERE k = {i} AND v > {i}.5;\n" for i in range(6)
)


def write_input(folder: Path, seed: int, count: int) -> str:
    rng = random.Random(seed)
    lines: dict[str, list[dict[str, Any]]] = {"a": [], "b": [], "r": []}
    live: list[int] = []
    for ts in range(count):
        late = max(0, ts - rng.randrange(5))
        text = rng.choice(["x1", "x\u00e9", "y", None])
        lines["a"].append({"k": rng.randrange(6), "v": rng.randrange(80) / 8, "s": text, "ts": late})
        if live and rng.random() < 0.3:
            lines["b"].append({"@op": "-", "k": live.pop(0), "ts": ts})
        else:
            live.append(rng.randrange(6))
            lines["b"].append({"k": live[-1], "ts": ts})
    lines["r"] = [{"k": k, "name": f"n{k}"} for k in (0, 1, 1, 4)]
    for name, forms in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(form) + "\n" for form in forms))
    (folder / "script.sql").write_text(SCRIPT + SELECTIONS)
    return str(folder / "script.sql")


def bag(result: LocalResult, but: str = "few") -> Counter[str]:
    return Counter(json.dumps(r, sort_keys=True) for r in result.records if r["query"] != but)


@seeds(2)
def test_buckets_and_batches_change_nothing(tmp_path: Path, seed: int) -> None:
    script = write_input(tmp_path, seed, 60)
    reference = run_local(script, buckets=1)
    assert {r["query"] for r in reference.records} == set(reference.stats["queries"])
    assert reference.dead and len(reference.records) > 200
    for buckets, batch_rows in [(2, None), (3, 7), (5, 20)]:
        result = run_local(script, buckets=buckets, batch_rows=batch_rows)
        assert bag(result) == bag(reference)
        assert Counter(map(str, result.dead)) == Counter(map(str, reference.dead))
        for query, statistics in result.stats["queries"].items():
            assert statistics["outputs"] == sum(r["query"] == query for r in result.records)
        assert result.stats["queries"]["few"]["outputs"] == 3
        assert result.stats["output_rows"] == len(result.records)
        assert result.stats["state_rows"]["peak"] > result.stats["state_rows"]["final"]
        if batch_rows is not None:
            assert result.stats["batches"] > reference.stats["batches"]


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    script = write_input(tmp_path, 5, 50)
    reference = run_local(script)
    options = Options(str(tmp_path / "out"), str(tmp_path / "dead"), str(tmp_path / "state"), 8)
    host: LocalHost | None = None
    finished = False
    for _ in range(40):
        run = Run(read_script(script), options)
        host = host or LocalHost(run.deployment)
        done = 0

        def work(number: int, run: Run = run, host: LocalHost = host) -> list[dict[str, Any]]:
            nonlocal done
            done += 1
            if done > 3:
                raise KeyboardInterrupt
            return host.run(number)

        try:
            run.driver.run_all(work)
            finished = True
            break
        except KeyboardInterrupt:
            pass
        finally:
            run.close()
    assert finished
    reported = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert bag(LocalResult(reported, [], {})) == bag(reference)


def test_a_checkpoint_of_another_script_is_refused(tmp_path: Path) -> None:
    script = write_input(tmp_path, 1, 5)
    options = Options(str(tmp_path / "out"), checkpoint=str(tmp_path / "state"))
    Run(read_script(script), options).close()
    (tmp_path / "other.sql").write_text(SCRIPT)
    with pytest.raises(SeineError, match="belongs to another script"):
        Run(read_script(str(tmp_path / "other.sql")), options)


def test_a_script_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeineError, match="cannot read script"):
        run_local(str(tmp_path / "missing.sql"))
    (tmp_path / "bytes.sql").write_bytes(b"\xff\xfe")
    with pytest.raises(SeineError, match="not UTF-8"):
        run_local(str(tmp_path / "bytes.sql"))
