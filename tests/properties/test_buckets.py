"""Records depend on event times alone: the same for any number of buckets, and whoever else is there.

Rows of many groups may look alike once columns are left out. What ends and begins at one instant, in a bucket
that two such groups share, is then told as often as where each has a bucket of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.generators.lines import random_lines
from tests.generators.partners import PartnerQueries
from tests.generators.scenario import Scenario, nested_scenario
from tests.generators.tables import random_tables
from tests.reference.compare import difference
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds

_STREAMS = (
    "CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 6 FROM 's.jsonl';",
    "CREATE STREAM d (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'd.jsonl';",
    "CREATE RELATION r (k BIGINT, name STRING) FROM 'r.jsonl';",
)
_COUNTS = "SELECT COUNT(*) AS n FROM s GROUP BY k"
_QUERIES = (
    _COUNTS,
    f"{_COUNTS} UNION ALL SELECT MAX(v) FROM s GROUP BY k",
    f"{_COUNTS} UNION ALL {_COUNTS}",
    f"{_COUNTS} UNION ALL SELECT v FROM s",
    f"SELECT n DIV 2 AS h FROM ({_COUNTS} UNION ALL SELECT COUNT(v) FROM d GROUP BY k) WHERE n > 1",
    "SELECT COUNT(*) AS n, MAX(v) AS m FROM s GROUP BY ROLLUP (k)",
    "SELECT COUNT(*) AS n FROM s GROUP BY CUBE (k, v)",
    "SELECT v FROM d UNION ALL SELECT v FROM d WHERE k = 1",
    "SELECT g.n, r.name FROM (SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s GROUP BY k) g "
    "LEFT JOIN r ON r.k = g.k",
    "SELECT s.v, g.n FROM s LEFT JOIN (SELECT k, COUNT(*) AS n FROM d GROUP BY k) g ON g.k = s.k",
    "SELECT g.n, h.m FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g "
    "FULL JOIN (SELECT k, MAX(v) AS m FROM d GROUP BY k) h ON g.k = h.k",
    "SELECT v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS p FROM s) "
    "WHERE p <= 2 UNION ALL SELECT MAX(v) FROM s GROUP BY k",
    "SELECT v, COUNT(*) OVER (PARTITION BY k) AS n FROM s",
    "SELECT n, COUNT(*) AS often FROM (SELECT COUNT(*) AS n FROM s GROUP BY k UNION ALL "
    "SELECT MIN(v) FROM s GROUP BY k) GROUP BY n",
    "SELECT MIN(v) AS a, MAX(v) AS b, SUM(v) AS c FROM s GROUP BY k",
    "SELECT DISTINCT v FROM s UNION ALL SELECT DISTINCT k FROM d",
)


@seeds(6)
def test_groups_that_look_alike(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    lines = {
        "s": [*_tuples(rng, False)],
        "d": [*_tuples(rng, True)],
        "r": [json.dumps({"k": k, "name": rng.choice("ab")}) for k in range(4)],
    }
    scenario = Scenario(_STREAMS, {f"q{i}": text for i, text in enumerate(_QUERIES)}, lines)
    records = _compare(scenario, tmp_path, rng)
    assert len({record["query"] for record in records}) == len(_QUERIES)


@seeds(3)
def test_random_queries(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tables = random_tables(rng)
    maker = PartnerQueries(rng, tables)
    partners = Scenario(
        tuple(table.declaration() for table in tables),
        {f"q{i}": maker.query() for i in range(8)},
        {table.name: random_lines(rng, table) for table in tables},
    )
    for number, scenario in enumerate((partners, nested_scenario(seed))):
        folder = tmp_path / str(number)
        folder.mkdir()
        _compare(scenario, folder, rng)


def test_a_branch_that_is_twice_in_a_union_is_told_twice(tmp_path: Path) -> None:
    final = "WITH (emit = 'final')"
    group = "SELECT window(ts, 10) AS w, COUNT(*) AS n FROM s GROUP BY window(ts, 10)"
    script = _STREAMS[0].replace(" WINDOW 6", "")
    script += f"CREATE QUERY one {final} AS {group}; CREATE QUERY two {final} AS {group} UNION ALL {group};"
    (tmp_path / "script.sql").write_text(script, encoding="utf-8")
    for seed in seed_range(2):
        (tmp_path / "s.jsonl").write_text("\n".join(_tuples(Random(seed), False)), encoding="utf-8")
        counts = Counter(record["query"] for record in run_local(str(tmp_path / "script.sql")).records)
        assert counts["two"] == 2 * counts["one"] > 0


def _tuples(rng: Random, deletions: bool) -> Iterator[str]:
    at = 0
    sent: list[dict[str, int]] = []
    for _ in range(50):
        at += rng.choice([0, 0, 1, 1, 2])
        if deletions and sent and rng.random() < 0.4:
            gone = sent.pop(rng.randrange(len(sent)))
            yield json.dumps({"@op": "-", **gone, "ts": at})
        else:
            sent.append({"k": rng.randrange(5), "v": rng.randrange(3)})
            yield json.dumps({**sent[-1], "ts": at})


def _compare(scenario: Scenario, folder: Path, rng: Random) -> list[dict[str, Any]]:
    path = str(scenario.write(folder))
    first = run_local(path, buckets=1)
    assert first.records
    for buckets in (2, 5):
        batch_rows, sharing = rng.choice([None, 7]), CONFIGURATIONS[rng.choice(["all", "off"])]
        other = run_local(path, buckets=buckets, batch_rows=batch_rows, sharing=sharing)
        missing, extra = difference(*(map(whole_record, run.records) for run in (first, other)))
        assert not missing and not extra, (buckets, batch_rows, missing[:2], extra[:2])
    return first.records
