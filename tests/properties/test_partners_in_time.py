"""Outer, semi and anti joins bounded by a range of times, without windows: right, safe, and freed."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.group import group_release
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.generators.scenario import Scenario
from tests.generators.time_ranges import TABLES, RangeQueries
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.reference.verdict import disagreements
from tests.support.freed_runs import (
    OVER,
    Stream,
    fed,
    joined_starts,
    query_of,
    write_lines,
    write_script,
)
from tests.support.live_runs import Pipeline, read_story
from tests.support.most_rows import most_rows
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_written


@seeds(4)
def test_rows_wait_for_partners_as_long_as_these_may_come(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_release, "TUPLES_BETWEEN_RELEASES", 0)
    check_written(seed, _scenario(seed), _complaints)


def test_most_answers_of_the_reference_are_not_empty() -> None:
    counts = [count for seed in seed_range(4) for count in most_rows(_scenario(seed))]
    assert sum(count > 0 for count in counts) > 0.8 * len(counts)


def _scenario(seed: int) -> Scenario:
    rng = Random(seed)
    maker = RangeQueries(rng)
    return Scenario(
        tuple(table.declaration() for table in TABLES),
        {f"q{i}": maker.query() for i in range(8)},
        {table.name: [*_lines(rng, table.columns)] for table in TABLES},
    )


def _lines(rng: Random, columns: dict[str, str]) -> Iterator[str]:
    time = 0
    for _ in range(24):
        time += rng.choice([0, 0, 1, 1, 2, 5])
        values = {"k": rng.randint(0, 2), "x": rng.randint(0, 6), "y": rng.randint(0, 3)}
        values |= {"until": rng.choice([None, time - 2, time, time + 3, time + 12]), "ts": time}
        yield json.dumps({name: values[name] for name in columns})


def _complaints(path: Path, rng: Random) -> Iterator[str]:
    for query in read_script(str(path)).declarations.queries.values():
        if not verdict(query).safe:
            yield f"{query.name}: {verdict(query).reason}"
    answers = Answers(path.read_text(encoding="utf-8"), path.parent)
    buckets = rng.choice([1, 2, 3])
    sharing = CONFIGURATIONS[rng.choice(["all", "off"])]
    first = run_local(str(path), sharing=sharing, batch_rows=3, buckets=buckets)
    instants = answers.instants()
    looked_at = rng.sample(instants, min(6, len(instants)))
    yield from disagreements(answers, first.records, first.dead, looked_at)
    other = run_local(str(path), sharing=sharing, batch_rows=rng.choice([1, 7, None]), buckets=buckets)
    missing, extra = difference(map(whole_record, first.records), map(whole_record, other.records))
    if missing or extra:
        yield f"cut otherwise: {missing[:2]} became {extra[:2]}"


FREED = {
    "left": ("SELECT x.a, y.b FROM x LEFT JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts AND x.ts + 7", True),
    "full": ("SELECT x.a, y.b FROM x FULL JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts - 2 AND x.ts + 7", True),
    "anti": ("SELECT a FROM x ANTI JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts AND x.ts + x.c", True),
    "semi": ("SELECT a FROM x SEMI JOIN y ON x.a = y.a AND x.ts DIV 5 = y.ts DIV 5", True),
    "groups": (
        "SELECT x.a, x.ts, COUNT(y.b) AS n FROM x LEFT JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts AND x.ts + 7"
        " GROUP BY x.a, x.ts",
        True,
    ),
    "groups of pairs": (
        "SELECT x.ts, MAX(y.b) AS m FROM x JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts - 2 AND x.ts + 7"
        " GROUP BY x.ts",
        True,
    ),
    "groups by window": (
        "SELECT window.start AS w, COUNT(*) AS n FROM x WHERE NOT EXISTS"
        " (SELECT 1 FROM y WHERE x.a = y.a AND y.ts BETWEEN x.ts AND x.ts + 7) GROUP BY window(x.ts, 4)",
        True,
    ),
    "groups of the other time": (
        "SELECT y.ts, COUNT(*) AS n FROM x FULL JOIN y ON x.a = y.a AND y.ts BETWEEN x.ts AND x.ts + 7"
        " GROUP BY y.ts",
        False,
    ),
    "open": ("SELECT x.a, y.b FROM x LEFT JOIN y ON x.a = y.a AND y.ts >= x.ts", False),
    "wrong way": ("SELECT x.a, y.b FROM x LEFT JOIN y ON x.a = y.a AND y.ts <= x.ts + 3", False),
}


@pytest.mark.parametrize("name", FREED)
def test_what_is_over_is_freed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_release, "TUPLES_BETWEEN_RELEASES", 0)
    text, safe = FREED[name]
    path = write_script(Random(1), tmp_path, {"x": Stream(), "y": Stream()}, text)
    pipeline = fed(path, 7)
    assert verdict(query_of(path)).safe == safe
    held = [row for store in pipeline.stores() for row in _rows_by_value(store)]
    late = [row for row in held if any(value is not None and value > OVER for value in row)]
    assert late or name == "groups of pairs"  # tuples that come late are in no pair
    assert (len(held) == len(late) and not joined_starts(pipeline)) == safe


def _rows_by_value(store: Store) -> Iterator[tuple]:
    """The rows that a semi or anti join holds, and the keys of groups, without tags."""
    for name in ("groups", "levels"):
        batches = [store.get(run["run"]) for run in reversed(store.head.get(name, []))]
        if batches:
            whole = pa.concat_batches(batches)
            newest = np.unique(whole[HASH].to_numpy(), return_index=True)[1]
            live = "_live" if "_live" in whole.schema.names else "_n"
            alive = whole.take(pa.array(newest[whole[live].to_numpy()[newest] > 0]))
            columns = [column for column in whole.schema.names if column.startswith("k") and column != "k0"]
            yield from zip(*(alive[column].to_pylist() for column in columns), strict=True)


FINAL = {
    "pairs": "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4",
    "longer": "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 9",
    "expiring": "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.until",
    "both": "SELECT a.x, b.y FROM a FULL JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4",
    "anti": "SELECT x FROM a WHERE NOT EXISTS"
    " (SELECT 1 FROM b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4)",
    "semi": "SELECT x FROM a SEMI JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.until",
}


@seeds(3)
def test_a_row_without_partner_is_final_when_none_can_come(seed: int) -> None:
    rng = Random(seed)
    tuples = {table.name: [json.loads(line) for line in _lines(rng, table.columns)] for table in TABLES}
    expected = {name: Counter(_final_rows(name, tuples["a"], tuples["b"])) for name in FINAL}
    assert all(sum(records.values()) > 3 for records in expected.values())
    with tempfile.TemporaryDirectory() as name:
        path = _final_script(Path(name), tuples)
        for batch_rows, sharing in ((None, "all"), (rng.randint(1, 4), "off"), (rng.randint(5, 9), "all")):
            run = run_local(str(path), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing])
            records: dict[str, Counter] = {query: Counter() for query in FINAL}
            for record in run.records:
                assert record["op"] == "+" and record["t_end"] is None
                records[record["query"]][record["t_start"], tuple(record["row"].values())] += 1
            assert records == expected


def test_it_is_told_before_input_ends(tmp_path: Path) -> None:
    """In the step that completes the last instant at which a partner could come, and not before."""
    rows = [{"k": 1, "x": 1, "ts": 1}, {"k": 2, "x": 2, "ts": 5}, {"k": 3, "x": 3, "ts": 6}]
    write_lines(tmp_path / "a.jsonl", [*rows, {"k": 9, "x": 9, "ts": 50}])
    write_lines(tmp_path / "b.jsonl", [{"k": 2, "y": 1, "ts": 9}, {"k": 9, "y": 9, "ts": 50}])
    text = "".join(table.declaration() + "\n" for table in TABLES[:2])
    path = tmp_path / "script.sql"
    path.write_text(f"{text}CREATE QUERY q WITH (emit = 'final') AS {FINAL['anti']};", encoding="utf-8")
    told_at = _told_at(path, tmp_path)
    assert {*told_at} == {1, 3}
    assert 5 < told_at[1] < FOREVER and told_at[3] > 10


def _told_at(path: Path, folder: Path) -> dict[int, float]:
    """By the value of x of each record, how far all streams had come when it was told."""
    story = read_story(path, folder / "journal", 1)
    (folder / "run").mkdir()
    pipeline = Pipeline(folder / "run", story, live=False)
    pipeline.network.add(query_of(path))
    told_at: dict[int, float] = {}
    for input_ in story.inputs:
        before = sum(map(len, pipeline.records))
        pipeline.feed(input_)
        for record in [record for batch in pipeline.records for record in batch][before:]:
            told_at[record["row"]["x"]] = min(input_.clock.watermarks.values())
    return told_at


def _final_rows(name: str, lefts: list[dict], rights: list[dict]) -> Iterator[tuple]:
    """The records of a query: start, row."""
    met_rights = set()
    for a in lefts:
        last = a["until"] if name in ("expiring", "semi") else a["ts"] + (9 if name == "longer" else 4)
        near = [n for n, b in enumerate(rights) if last is not None and a["ts"] <= b["ts"] <= last]
        met = [n for n in near if a["k"] == rights[n]["k"]]
        met_rights |= {*met}
        if name == "semi" and met:
            yield min(rights[n]["ts"] for n in met), (a["x"],)
        if name == "anti" and not met:
            yield a["ts"], (a["x"],)
        if name not in ("semi", "anti"):
            yield from ((rights[n]["ts"], (a["x"], rights[n]["y"])) for n in met)
            yield from [] if met else [(a["ts"], (a["x"], None))]
    if name == "both":
        yield from ((b["ts"], (None, b["y"])) for n, b in enumerate(rights) if n not in met_rights)


def _final_script(folder: Path, tuples: dict[str, list[dict]]) -> Path:
    return _script(folder, tuples, {name: f"WITH (emit = 'final') AS {text}" for name, text in FINAL.items()})


def _script(folder: Path, tuples: dict[str, list[dict]], queries: dict[str, str]) -> Path:
    text = ""
    for table in TABLES:
        text += table.declaration() + "\n"
        write_lines(folder / f"{table.name}.jsonl", tuples[table.name])
    text += "".join(f"CREATE QUERY {name} {query};\n" for name, query in queries.items())
    path = folder / "script.sql"
    path.write_text(text, encoding="utf-8")
    return path


FINAL_GROUPS = {
    "left": "SELECT a.x, a.ts, COUNT(b.y) AS n, SUM(b.y) AS s FROM a LEFT JOIN b"
    " ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4 GROUP BY a.x, a.ts",
    "inner": "SELECT a.x, a.ts, COUNT(*) AS n, SUM(b.y) AS s FROM a JOIN b"
    " ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4 GROUP BY a.x, a.ts",
    "anti": "SELECT window.start AS w, COUNT(*) AS n FROM a WHERE NOT EXISTS"
    " (SELECT 1 FROM b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4) GROUP BY window(a.ts, 5)",
}


@seeds(3)
def test_groups_of_rows_that_wait_are_told_once(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = {table.name: [json.loads(line) for line in _lines(rng, table.columns)] for table in TABLES}
    queries = {name: f"WITH (emit = 'final') AS {text}" for name, text in FINAL_GROUPS.items()}
    path = _script(tmp_path, tuples, queries)
    for batch_rows in (None, rng.randint(1, 4)):
        records: dict[str, Counter] = {name: Counter() for name in FINAL_GROUPS}
        for record in run_local(str(path), batch_rows=batch_rows, buckets=rng.randint(1, 3)).records:
            assert record["op"] == "+"
            records[record["query"]][tuple(record["row"].values())] += 1
        assert records == {name: _final_groups(name, tuples["a"], tuples["b"]) for name in FINAL_GROUPS}
        assert all(map(len, records.values()))


def test_groups_of_rows_that_wait_are_told_before_input_ends(tmp_path: Path) -> None:
    a = [{"k": 1, "x": 1, "ts": 1}, {"k": 2, "x": 2, "ts": 5}, {"k": 3, "x": 3, "ts": 6}]
    late = [{"k": 9, "x": 9, "ts": ts} for ts in (30, 40, 50)]
    b = [{"k": 2, "y": 1, "ts": 9}, *({"k": 9, "y": 9, "ts": ts} for ts in (30, 40, 50))]
    tuples = {"a": [*a, *late], "b": b, "c": []}
    path = _script(tmp_path, tuples, {"q": f"WITH (emit = 'final') AS {FINAL_GROUPS['left']}"})
    told_at = _told_at(path, tmp_path)
    assert {1, 2, 3} <= {*told_at}
    assert 5 < told_at[1] < FOREVER and 9 < told_at[2] < FOREVER and told_at[3] > 10


def _final_groups(name: str, lefts: list[dict], rights: list[dict]) -> Counter:
    groups: dict[tuple, list[int | None]] = {}
    for a in lefts:
        near = [b["y"] for b in rights if a["k"] == b["k"] and a["ts"] <= b["ts"] <= a["ts"] + 4]
        if name == "anti":
            groups.setdefault((a["ts"] // 5 * 5,), []).extend([None] * (not near))
        else:
            groups.setdefault((a["x"], a["ts"]), []).extend(near or [None] * (name == "left"))
    if name == "anti":
        return Counter((*key, len(rows)) for key, rows in groups.items() if rows)
    known = {key: [y for y in rows if y is not None] for key, rows in groups.items() if rows}
    return Counter((*key, len(ys), sum(ys) if ys else None) for key, ys in known.items())
