"""FIRST, LAST, COLLECT_LIST and COLLECT_SET against brute force: by event time, then by columns."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from seine.run_local import run_local
from tests.support.seeds import seeds

Tuple = dict[str, Any]
COLUMNS = ("k", "s", "v")


def _tuples(rng: Random) -> list[Tuple]:
    times = sorted(rng.randint(0, 25) for _ in range(40))
    values = {"k": [1, 2], "s": [None, "a", "b|", 'é"'], "v": [None, -1.5, 0.0, 2.25, 1e300]}
    tuples = [{**{name: rng.choice(values[name]) for name in COLUMNS}, "ts": ts} for ts in times]
    return sorted(tuples, key=lambda one: one["ts"] + rng.uniform(0, 4))  # out of order, but in time


def _place(one: Tuple) -> tuple[Any, ...]:
    text = "" if one["s"] is None else one["s"]
    return (one["ts"], one["k"], one["s"] is not None, text.encode(), one["v"] is not None, one["v"] or 0.0)


def _row(members: list[Tuple]) -> Tuple:
    ordered = sorted(members, key=_place)
    values = [one["v"] for one in ordered if one["v"] is not None]
    return {
        "f": ordered[0]["s"],
        "l": ordered[-1]["v"],
        "n": next((one["s"] for one in reversed(ordered) if one["s"] is not None), None),
        "c": [one["s"] for one in ordered if one["s"] is not None],
        "d": list(dict.fromkeys(values)),
        "b": next((one["s"] for one in ordered if values and one["v"] == min(values)), None),
        "m": next((one["s"] for one in reversed(ordered) if values and one["v"] == max(values)), None),
    }


CALLS = "first(s) AS f, last(v) AS l, last(s, true) AS n, collect_list(s) AS c, collect_set(v) AS d, "
CALLS += "min_by(s, v) AS b, max_by(s, v) AS m"


@seeds(2)
def test_by_event_time(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples, window = _tuples(rng), 6
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tuples))
    stream = "(k BIGINT, s STRING, v DOUBLE, ts BIGINT) TIMESTAMP BY ts LATENESS 4"
    path = tmp_path / "s.sql"
    path.write_text(
        f"CREATE STREAM a {stream} FROM 's.jsonl'; CREATE STREAM b {stream} WINDOW {window} FROM 's.jsonl';"
        f"CREATE QUERY fixed WITH (emit = 'final') AS SELECT window.start AS w, {CALLS} FROM a "
        f"GROUP BY window(ts, 8); CREATE QUERY live AS SELECT k, {CALLS} FROM b GROUP BY k;"
    )
    records = run_local(str(path), batch_rows=rng.choice([1, 7, None])).records
    final = {one["row"].pop("w"): one["row"] for one in records if one["query"] == "fixed"}
    starts = sorted({one["ts"] // 8 * 8 for one in tuples})
    assert final == {w: _row([one for one in tuples if w <= one["ts"] < w + 8]) for w in starts}
    live = [one for one in records if one["query"] == "live"]
    for now in range(max(one["ts"] for one in tuples) + 1):
        net: dict[str, int] = {}
        for one in live:
            if one["t_start"] <= now:
                text = json.dumps(one["row"])
                net[text] = net.get(text, 0) + (1 if one["op"] == "+" else -1)
        alive = [one for one in tuples if one["ts"] <= now < one["ts"] + window]
        keys = {one["k"] for one in alive}
        expected = [{"k": k, **_row([one for one in alive if one["k"] == k])} for k in keys]
        assert sorted(text for text, count in net.items() if count) == sorted(map(json.dumps, expected))
