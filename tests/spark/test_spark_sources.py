"""Streams that Spark's own file sources read: through tasks alone, exactly once, the same answers."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import run_local
from seine.spark.spark_host import run_on_spark
from tests.support.command import kill, start
from tests.support.paced_rig import read_lines
from tests.support.progress import last_delivered, wait_for_batch
from tests.support.stateful_script import sorted_file, sorted_records

pytestmark = [pytest.mark.spark, pytest.mark.long]

SCRIPT = """
CREATE STREAM bid (item BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 3 {bid};
CREATE STREAM sale (item BIGINT, shop STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 20 RETRACTABLE {sale};
CREATE QUERY dear AS SELECT b.item AS item, b.price AS price FROM bid b WHERE b.price > 60;
CREATE QUERY pairs AS SELECT b.price AS price, s.shop AS shop FROM bid b, sale s WHERE b.item = s.item;
CREATE QUERY counts AS SELECT item, COUNT(*) AS n, SUM(price) AS total FROM bid GROUP BY item;
"""
FILES = 5


def _write(folder: Path, seed: int, count: int) -> None:
    """Both streams as files in order: bid as JSON Lines, sale as Parquet; one sale in four is taken back."""
    rng = random.Random(seed)
    bids = [
        {"item": rng.randrange(6), "price": rng.randrange(100), "ts": max(0, i // 4 - rng.randrange(3))}
        for i in range(count)
    ]
    sales: list[dict[str, Any]] = []
    for i in range(count // 2):
        sale = {"item": rng.randrange(6), "shop": rng.choice("abc"), "ts": i // 2, "@op": None}
        old = [one for one in sales if one["@op"] is None]
        if old and rng.random() < 0.25:
            sale = {**rng.choice(old[-9:]), "ts": i // 2, "@op": "-"}
        sales.append(sale)
    schema = pa.schema(
        [("item", pa.int64()), ("shop", pa.string()), ("ts", pa.int64()), ("@op", pa.string())]
    )
    for name in ("bid", "sale"):
        (folder / name).mkdir()
    for number in range(FILES):
        bid, sale = folder / "bid" / f"{number}.jsonl", folder / "sale" / f"{number}.parquet"
        part = bids[number * count // FILES : (number + 1) * count // FILES]
        bid.write_text("".join(json.dumps(row) + "\n" for row in part))
        half = count // 2
        pq.write_table(
            pa.Table.from_pylist(sales[number * half // FILES : (number + 1) * half // FILES], schema), sale
        )
        for path in (bid, sale):  # Spark takes files by their time
            os.utime(path, (1_000_000 + number * 10, 1_000_000 + number * 10))


def _scripts(folder: Path, one_file: str = "maxFilesPerTrigger '1'") -> tuple[Path, Path]:
    """The script that the driver reads, and the one that Spark reads."""
    journaled, by_spark = folder / "journaled.sql", folder / "by_spark.sql"
    journaled.write_text(SCRIPT.format(bid="FROM 'bid'", sale="FROM 'sale' FORMAT PARQUET"))
    bid = f"USING json OPTIONS (path 'bid', {one_file})"
    by_spark.write_text(SCRIPT.format(bid=bid, sale=f"USING parquet OPTIONS (path 'sale', {one_file})"))
    return journaled, by_spark


def test_answers_are_those_of_files_in_order(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, 1, 200)
    journaled, by_spark = _scripts(tmp_path)
    expected = run_local(str(journaled))
    assert expected.dead == [] and {record["op"] for record in expected.records} == {"+", "-"}
    options = Options(
        str(tmp_path / "out.jsonl"), str(tmp_path / "dead.jsonl"), str(tmp_path / "state"), buckets=2
    )
    run = Run(read_script(str(by_spark)), options)
    run_on_spark(spark, run)
    statistics = run.statistics(0.0).document()
    run.close()
    assert sorted_file(tmp_path / "out.jsonl") == sorted_records(expected.records) != []
    assert read_lines(tmp_path / "dead.jsonl") == []
    assert statistics["input_rows"] == 300 and FILES < statistics["batches"] < 3 * FILES
    assert not list((tmp_path / "state" / "journal").rglob("s-*.arrow")), "no row comes to the driver"


def test_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    _write(tmp_path, 2, 240)
    journaled, by_spark = _scripts(tmp_path)
    expected = sorted_records(run_local(str(journaled)).records)
    words = [
        "run",
        str(by_spark),
        "--out",
        str(tmp_path / "out.jsonl"),
        "--checkpoint",
        str(tmp_path / "state"),
    ]
    words += ["--dead-letter", str(tmp_path / "dead.jsonl"), "--master", "local[2]"]
    state, rng = tmp_path / "state", random.Random(3)
    for _ in range(2):
        before = last_delivered(state)
        process = start(*words, log=tmp_path / "command.log")
        wait_for_batch(state, before, process, 300)
        time.sleep(rng.random() * 0.4)
        kill(process)
    final = start(*words, log=tmp_path / "command.log")
    assert final.wait(300) == 0, (tmp_path / "command.log").read_text()
    assert sorted_file(tmp_path / "out.jsonl") == expected != []
