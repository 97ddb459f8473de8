"""How far streams may run ahead of each other changes no answer."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

from seine.frontends.script.parser import read_script
from seine.intake.alignment import Lead
from seine.run import Options, Run
from seine.run_local import LocalHost
from tests.support.seeds import seeds

SCRIPT = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 3 FROM 's.jsonl';
CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 7 FROM 't.jsonl';
CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9000 RETRACTABLE FROM 'u.jsonl';
CREATE QUERY joined AS SELECT s.a, s.ts AS x, t.ts AS y FROM s, t WHERE s.a = t.a;
CREATE QUERY counted AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
CREATE QUERY only_s AS SELECT a FROM s EXCEPT SELECT a FROM t;
CREATE QUERY other AS SELECT a, SUM(ts) AS n FROM u GROUP BY a;
"""


def write(folder: Path, rng: random.Random) -> None:
    for name, scale, offset in (("s", 1, 0), ("t", 1, 20), ("u", 1000, 0)):
        clock, lines = offset, []
        for _ in range(50):
            clock += rng.choice([0, 1, 1, 3])
            tuple_ = {"a": rng.randrange(4), "ts": scale * max(clock - rng.choice([0, 0, 2]), 0)}
            sign = {"@op": "-"} if name == "u" and rng.random() < 0.2 else {}
            lines.append(json.dumps(sign | tuple_))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))


def answers(folder: Path, lead: Lead, rows: int | None, name: str) -> tuple[Counter[str], int]:
    out = folder / f"{name}.out"
    checkpoint = str(folder / name)
    run = Run(
        read_script(str(folder / "x.sql")),
        Options(str(out), checkpoint=checkpoint, batch_rows=rows, lead=lead),
    )
    run.driver.run_all(LocalHost(run.deployment).run)
    run.close()
    return Counter(out.read_text().splitlines()), run.sink.totals.dead_letters


@seeds(4)
def test_answers_do_not_depend_on_it(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    write(tmp_path, rng)
    (tmp_path / "x.sql").write_text(SCRIPT)
    whole = answers(tmp_path, Lead(), None, "whole")
    assert {json.loads(line)["query"] for line in whole[0]} == {"joined", "counted", "only_s", "other"}
    for index, (lead, rows) in enumerate([(0, 9), (5, 9), (10**6, 9), (2**60, 9)]):
        assert answers(tmp_path, Lead(plain=lead), rows, f"run{index}") == whole
