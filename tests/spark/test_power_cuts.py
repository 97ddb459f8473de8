"""Power cuts of a run on Spark: of what Spark wrote, only what we have synced is there for sure.

The disk is recorded in the driver's process, where all is synced; the folder is laid out again in its own
place, for Spark notes paths.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.spark.spark_host import run_on_spark
from tests.support.power_cuts import MODELS, Cut, lay_out, recorded_disk
from tests.support.progress import last_delivered_in

pytestmark = [pytest.mark.spark, pytest.mark.long]

SCRIPT = """\
CREATE STREAM a (k BIGINT, v BIGINT, at BIGINT) TIMESTAMP BY at WINDOW 20 FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, at BIGINT) TIMESTAMP BY at WINDOW 20 FROM 'b.jsonl';
CREATE QUERY pairs AS SELECT a.v AS v, b.at AS at FROM a, b WHERE a.k = b.k;
CREATE QUERY sums AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY k;
"""
_COUNTED = 2  # the entry that counts when the power goes


def _run(spark: SparkSession, script: Path, root: Path) -> list[str]:
    options = Options(f"{root}/out.jsonl", None, f"{root}/state", batch_rows=40)
    run = Run(read_script(str(script)), options)
    try:
        run_on_spark(spark, run)
    finally:
        run.close()
    return sorted((root / "out.jsonl").read_text().splitlines())


def _is_counted(cut: Cut) -> bool:
    return last_delivered_in(cut.image, "state") == _COUNTED


def _lost(cut: Cut) -> int:
    """How many files of Spark's are empty."""
    return sum(path.startswith("state/spark/") and content == b"" for path, content in cut.image.items())


def _recorded(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], dict[str, list[Cut]]]:
    """The records of a run; by model, what its disk may have held at the moments when most was not synced.

    These are moments when a certain entry was the last that counts.
    """
    rng, root = random.Random(3), tmp_path / "run"
    for name, column in (("a", "v"), ("b", "at")):
        rows = [{"k": rng.randrange(4), column: i, "at": i // 2} for i in range(90)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "script.sql").write_text(SCRIPT)
    (root / "state").mkdir(parents=True)
    with recorded_disk(root, monkeypatch) as disk:
        records = _run(spark, tmp_path / "script.sql", root)
    cuts = {model: [cut for cut in disk.cuts if cut.model == model] for model in MODELS}
    moments = [i for i, cut in enumerate(cuts["names"]) if _is_counted(cut) and _lost(cut)]
    moments.sort(key=lambda i: _lost(cuts["names"][i]))
    assert len(records) > 100 and {json.loads(line)["query"] for line in records} == {"pairs", "sums"}
    assert moments, "Spark wrote something before it was synced"
    return records, {model: [cuts[model][i] for i in moments] for model in MODELS}


def _goes_on(spark: SparkSession, tmp_path: Path, cut: Cut) -> list[str]:
    shutil.rmtree(tmp_path / "run")
    lay_out(cut.image, tmp_path / "run")
    assert any(path.startswith("state/spark/offsets/") for path in cut.image)
    return _run(spark, tmp_path / "script.sql", tmp_path / "run")


def test_what_spark_wrote_since_it_was_synced_may_be_empty(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, cuts = _recorded(spark, tmp_path, monkeypatch)
    assert _goes_on(spark, tmp_path, cuts["names"][-1]) == records


@pytest.mark.slow
def test_spark_goes_on_whatever_the_disk_holds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, cuts = _recorded(spark, tmp_path, monkeypatch)
    for model, of_model in cuts.items():
        for cut in (of_model[0], of_model[len(of_model) // 2], of_model[-1]):
            assert _goes_on(spark, tmp_path, cut) == records, (model, cut.moment)
