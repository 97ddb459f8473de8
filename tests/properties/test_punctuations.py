"""Random streams with truthful punctuations: purging changes no answer, and nothing that is over stays.

The same tuples are joined once more from streams that promise nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from seine.network.plan.strategy import Strategy
from seine.run_local import LocalResult, run_local
from tests.support.seeds import seeds

SCHEMES = {
    "s": [("k",), ("k", "v"), ("w",)],
    "t": [("k",), ("v", "k"), ("w", "k")],
}
QUERIES = (
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.k = t.k",
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.k = t.k AND s.v = t.v",
    "SELECT s.n AS a, t.n AS b FROM t, s WHERE s.k = t.k AND s.n < t.n + {c}",
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.w = t.w AND s.k = t.k AND s.v <> {c}",
    "SELECT a.n AS a, b.n AS b FROM s a, s b WHERE a.k = b.k AND a.n < b.n",
    "SELECT s.n AS a, t.n AS b, r.x AS c FROM s, t, r WHERE s.k = t.k AND s.v = r.v",
    "SELECT a.n AS a, b.n AS b, t.n AS c FROM s a, s b, t WHERE a.k = b.k AND b.w = t.w AND a.n < b.n",
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.k = t.v + 1 AND s.w = t.w",
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.k = t.v AND s.v = t.v",
    "SELECT s.n AS a, t.n AS b, r.x AS c FROM s, t, r WHERE s.k = r.v AND r.v = t.k",
    "SELECT s.n AS a, t.n AS b FROM s, t WHERE s.k = t.k AND t.ts <= t.k * 3 + 40 AND s.ts <= t.ts + s.v",
)


class Punctuated:
    """The lines of a stream, and its schemes with their lifespans."""

    def __init__(self, rng: Random, name: str) -> None:
        self.name = name
        self.window = rng.choice([None, None, 12])
        count = rng.randint(1, 3)
        self.schemes = {s: rng.choice([None, None, 15]) for s in rng.sample(SCHEMES[name], count)}
        self.lines: list[dict[str, Any]] = []
        self._punctuations: list[tuple[dict[str, Any], int | None]] = []

    def extend(self, rng: Random, count: int) -> None:
        for number in range(len(self.lines), len(self.lines) + count):
            ts = number // 2
            row = {"k": number // 15 + rng.randint(0, 3), "v": rng.randint(0, 3), "w": rng.choice("xyz")}
            if rng.random() < 0.2:
                self._punctuation(rng, row, ts)
            elif not any(_breaks(row, ts, *punctuation) for punctuation in self._punctuations):
                self.lines.append({**row, "n": number, "ts": ts})

    def _punctuation(self, rng: Random, row: dict[str, Any], ts: int) -> None:
        scheme, lifespan = rng.choice(list(self.schemes.items()))
        values = {name: row[name] for name in scheme}
        if "k" in values and rng.random() < 0.8:
            values["k"] -= 4  # what is over, mostly
        self._punctuations.append((values, None if lifespan is None else ts + lifespan))
        self.lines.append({"@punctuate": values, "ts": ts})

    def declaration(self, punctuating: bool) -> str:
        window = f" WINDOW {self.window}" if self.window else ""
        schemes = "".join(
            f" PUNCTUATED ON ({', '.join(names)})" + (f" LIFESPAN {life}" if life else "")
            for names, life in self.schemes.items()
        )
        return (
            f"CREATE STREAM {self.name} (k BIGINT, v BIGINT, w STRING, n BIGINT, ts BIGINT) TIMESTAMP BY ts"
            f"{window}{schemes if punctuating else ''} FROM '{self.name}.jsonl';"
        )


def _breaks(row: dict[str, Any], ts: int, punctuation: dict[str, Any], limit: int | None) -> bool:
    return all(row[name] == value for name, value in punctuation.items()) and (limit is None or ts < limit)


def _write(folder: Path, streams: list[Punctuated], queries: list[str], punctuating: bool) -> str:
    folder.mkdir()
    text = [stream.declaration(punctuating) for stream in streams]
    text.append("CREATE RELATION r (v BIGINT, x BIGINT) FROM 'r.jsonl';")
    (folder / "r.jsonl").write_text("".join(f'{{"v": {v}, "x": {v * v}}}\n' for v in range(3)))
    text += [f"CREATE QUERY q{i} WITH (unbounded = true) AS {sql};" for i, sql in enumerate(queries)]
    for stream in streams:
        lines = [line for line in stream.lines if punctuating or "@punctuate" not in line]
        (folder / f"{stream.name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "script.sql").write_text("\n".join(text))
    return str(folder / "script.sql")


def _answers(result: LocalResult) -> Counter:
    assert not result.dead
    return Counter(json.dumps(record, sort_keys=True) for record in result.records)


@seeds(4)
def test_purging_changes_no_answer(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    streams = [Punctuated(rng, name) for name in ("s", "t")]
    for stream in streams:
        stream.extend(rng, rng.randint(50, 120))
    queries = [sql.format(c=rng.randint(0, 9)) for sql in rng.sample(QUERIES, 4)]
    plain = run_local(_write(tmp_path / "plain", streams, queries, False), batch_rows=40)
    expected = _answers(plain)
    assert expected.total() > 20
    script = _write(tmp_path / "promising", streams, queries, True)
    for lazy in (False, True):
        result = run_local(
            script,
            batch_rows=rng.choice([6, 17, 40, None]),
            buckets=rng.choice([1, 2, 3]),
            sharing=Strategy(lazy=lazy, share=rng.random() < 0.8),
        )
        assert _answers(result) == expected


def test_a_broken_punctuation_is_a_dead_letter_and_changes_nothing(tmp_path: Path) -> None:
    rng = Random(5)
    streams = [Punctuated(rng, name) for name in ("s", "t")]
    for stream in streams:
        stream.schemes = {("k",): None}
        stream.extend(rng, 120)
    queries = [QUERIES[0]]
    honest = run_local(_write(tmp_path / "honest", streams, queries, True), batch_rows=20)
    for stream in streams:
        last = max(line["ts"] for line in stream.lines)
        closed = next(line["@punctuate"]["k"] for line in stream.lines if "@punctuate" in line)
        stream.lines.append({"k": closed, "v": 0, "w": "x", "n": -1, "ts": last})
    broken = run_local(_write(tmp_path / "broken", streams, queries, True), batch_rows=7)
    assert len(broken.dead) == 2
    assert all(re.match("breaks an earlier punctuation", letter["reason"]) for letter in broken.dead)
    assert Counter(map(str, broken.records)) == Counter(map(str, honest.records)) and honest.records


def test_the_state_of_an_auction_is_its_open_items(tmp_path: Path) -> None:
    """Bids come for the latest 20 items; an item is promised when it comes, its bids when it closes."""
    rng, items, bids = Random(1), [], []
    for number in range(200):
        items += [{"k": number, "n": number, "ts": number}, {"@punctuate": {"k": number}, "ts": number}]
        bids += [{"k": max(0, number - rng.randint(1, 19)), "n": i, "ts": number} for i in range(5)]
        bids.append({"@punctuate": {"k": number - 20}, "ts": number})
    for name, lines in (("item", items), ("bid", bids)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "script.sql").write_text(
        "".join(
            f"CREATE STREAM {name} (k BIGINT, n BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k)"
            f" FROM '{name}.jsonl';"
            for name in ("item", "bid")
        )
        + "CREATE QUERY q WITH (unbounded = true) AS"
        " SELECT item.n AS item, bid.n AS bid FROM item, bid WHERE item.k = bid.k;"
    )
    for lazy, most in ((False, 80), (True, 140)):
        result = run_local(str(tmp_path / "script.sql"), batch_rows=30, sharing=Strategy(lazy=lazy))
        assert len(result.records) == 1000
        assert 20 <= result.stats["state_rows"]["peak"] <= most


def test_state_is_told_by_query_and_stream(tmp_path: Path) -> None:
    rng = Random(3)
    streams = [Punctuated(rng, name) for name in ("s", "t")]
    for stream in streams:
        stream.window, stream.schemes = None, {("k",): None}
        stream.extend(rng, 60)
    queries = [QUERIES[0], QUERIES[4], "SELECT k FROM s"]
    stats = run_local(_write(tmp_path / "here", streams, queries, True), batch_rows=10).stats["queries"]
    assert stats["q2"]["state_rows_by_stream"] == {}
    assert list(stats["q1"]["state_rows_by_stream"]) == ["s"]
    held = stats["q0"]["state_rows_by_stream"]
    assert set(held) == {"s", "t"} and all(part["final"] == 0 < part["peak"] for part in held.values())
    assert max(part["peak"] for part in held.values()) <= stats["q0"]["state_rows_peak"]
    assert stats["q0"]["state_rows_peak"] <= sum(part["peak"] for part in held.values())
