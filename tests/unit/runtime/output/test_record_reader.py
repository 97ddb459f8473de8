"""Records as Python's objects: what a callback gets."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from seine.frontends.script.parser import parse_script
from seine.run import Options
from seine.run_local import carried_here
from seine.runtime.output.record_reader import RecordReader

SCRIPT = """
CREATE STREAM paid (k BIGINT, v DECIMAL(20, 2), x DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'paid.jsonl';
CREATE QUERY all_paid AS SELECT v, x FROM paid;
"""


def test_a_callback_gets_decimals_exactly(tmp_path: Path) -> None:
    line = '{"k": 1, "v": 123456789012345678.91, "x": 0.25, "ts": 1}'
    (tmp_path / "paid.jsonl").write_text(line, encoding="utf-8")
    taken: list[dict[str, Any]] = []
    script = parse_script(SCRIPT, file="script", folder=str(tmp_path))
    with carried_here(script, Options(deliver=taken.append)):
        pass
    assert [record["row"] for record in taken] == [{"v": Decimal("123456789012345678.91"), "x": 0.25}]
    assert type(taken[0]["row"]["x"]) is float


def test_records_of_a_dropped_query_keep_all_digits() -> None:
    known = dict(parse_script(SCRIPT, file="script", folder=".").declarations.queries)
    reader = RecordReader(known.get, {}.get)
    line = '{"query": "ALL_PAID", "op": "+", "row": {"v": 5, "x": 0.1}}'
    assert reader.read(line)["row"] == {"v": Decimal(5), "x": 0.1}
    known.clear()
    assert reader.read(line)["row"] == {"v": Decimal(5), "x": 0.1}
    fresh = RecordReader(known.get, {}.get)
    assert fresh.read(line)["row"] == {"v": 5, "x": Decimal("0.1")}
