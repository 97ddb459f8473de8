"""UNIQUE columns against a judge that reads one line after the other, and what they free."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.algebra.definitions import Scheme, StreamDef
from seine.algebra.types import BIGINT, STRING, Field
from seine.errors import ScriptError
from seine.intake.admission import Admission
from seine.intake.jsonl import JsonLines
from seine.intake.line_block import LineBlock
from seine.intake.record_layout import RecordLayout
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.support.front_end import parse
from tests.support.seeds import seeds

FIELDS = (Field("a", BIGINT), Field("b", STRING), Field("ts", BIGINT))
Said = tuple[str, tuple[Any, ...], int]


def random_lines(rng: Random) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for i in range(60):
        values = {"a": rng.choice([None, *range(12)]), "b": rng.choice("uvw")}
        if rng.random() < 0.1:
            lines.append({"@punctuate": {"a": rng.randrange(12)}, "ts": i})
        else:
            lines.append({**values, "ts": max(0, i + rng.choice([0, 0, 1, 9, -3, -6]))})
    return lines


def plainly(lines: list[dict[str, Any]], lateness: int, lifespan: float | None) -> tuple[int, list[Said]]:
    """How many lines are let in, and the punctuations that follow."""
    clock, let_in = -(10**9), 0
    limits: dict[tuple[str, tuple[Any, ...]], float] = {}
    said: list[Said] = []

    def bind(scheme: str, values: tuple[Any, ...], time: int) -> None:
        limit = time + lifespan if scheme == "a" and lifespan is not None else float("inf")
        if limit > limits.get((scheme, values), -1):
            limits[scheme, values] = limit
            said.append((scheme, values, time))

    for line in lines:
        if "@punctuate" in line:
            bind("a", (line["@punctuate"]["a"],), line["ts"])
            continue
        keys = {"a": (line["a"],), "ab": (line["a"], line["b"])}
        broken = any(line["ts"] < limits.get((scheme, key), -1) for scheme, key in keys.items())
        if broken or line["ts"] < clock - lateness:
            continue
        clock, let_in = max(clock, line["ts"]), let_in + 1
        for scheme, key in keys.items():
            if None not in key:
                bind(scheme, key, line["ts"])
    return let_in, said


@pytest.mark.parametrize("lifespan", [None, 7])
@seeds(6)
def test_it_is_a_judge_that_reads_line_by_line(seed: int, lifespan: int | None) -> None:
    rng = Random(seed)
    lines, lateness = random_lines(rng), rng.choice([0, 4])
    schemes = (Scheme((0,), lifespan, unique=True), Scheme((0, 1), None, unique=True))
    stream = StreamDef("s", FIELDS, 2, None, lateness=lateness, schemes=schemes)
    let_in, said = plainly(lines, lateness, lifespan)
    admission, at, accepted, dead = Admission(stream), 0, 0, 0
    promised: list[Said] = []
    while at < len(lines):
        count = rng.choice([1, 3, 8, 60])
        data = "\n".join(map(json.dumps, lines[at : at + count])).encode()
        block = LineBlock("k", "f", data, at + 1, 0, data[:1024])
        result = admission.admit(JsonLines(RecordLayout.of(stream)).parse(block))
        accepted, dead, at = accepted + result.rows.num_rows, dead + len(result.dead), at + count
        for row in result.punctuations.to_pylist():
            scheme, values = ("ab", (row["c0"], row["c1"])) if row["_scheme"] else ("a", (row["c0"],))
            promised.append((scheme, values, row["_t"]))
    assert accepted == let_in > 5
    assert dead == sum("@punctuate" not in line for line in lines) - let_in > 5
    assert promised == said or sorted(promised, key=str) == sorted(said, key=str)


AUCTION = """\
CREATE STREAM item (itemid BIGINT, seller BIGINT, ts BIGINT) TIMESTAMP BY ts
  UNIQUE (itemid) FROM 'item.jsonl';
CREATE STREAM bid (itemid BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (itemid) FROM 'bid.jsonl';
CREATE QUERY q AS SELECT i.seller, b.price FROM item i, bid b WHERE i.itemid = b.itemid;
"""


def test_example_1_is_safe_and_frees_bids_when_their_item_has_come(tmp_path: Path) -> None:
    """Bids are freed by their item alone, which says nothing; items by the punctuations of bid."""
    judged = verdict(parse(AUCTION).declarations.queries["q"])
    assert judged.safe and judged.purgeable == {"i": True, "b": True}
    (tmp_path / "q.sql").write_text(AUCTION)
    bids: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    for number in range(60):
        bids += [{"itemid": number, "price": i, "ts": number} for i in range(5)]
        items += [{"itemid": number, "seller": number, "ts": number}]
        if number >= 10:
            bids += [{"@punctuate": {"itemid": number - 10}, "ts": number}]
    items += [{"itemid": 3, "seller": 99, "ts": 60}]
    for name, rows in (("bid", bids), ("item", items)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run_local(str(tmp_path / "q.sql"), batch_rows=6)
    assert len(result.records) == 300
    assert [letter["reason"] for letter in result.dead] == ["repeats UNIQUE values of (itemid)"]
    held = result.stats["queries"]["q"]["state_rows_by_stream"]
    assert held["bid"]["peak"] < 80 and held["item"]["peak"] < 130


def test_unique_needs_a_stream_that_only_appends() -> None:
    with pytest.raises(ScriptError, match="only appends"):
        parse("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE UNIQUE (a) FROM 's';")
    with pytest.raises(ScriptError, match="the same columns"):
        parse("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts UNIQUE (a) PUNCTUATED ON (a) FROM 's';")
