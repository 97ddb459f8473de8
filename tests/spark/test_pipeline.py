"""The pipeline on Spark: the answers of a run without it, and what happens when something is wrong."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from seine.errors import RunError, SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import run_local
from seine.spark.spark_host import run_on_spark
from tests.support.command import start
from tests.support.stateful_script import sorted_file, sorted_records, write_story

pytestmark = pytest.mark.spark

BATCH = 40


@dataclass(frozen=True)
class Finished:
    """A run that Spark carried to its end, and all that it left."""

    script: Path
    options: Options
    statistics: dict[str, Any]

    @property
    def out(self) -> Path:
        return Path(str(self.options.out))


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("pipeline")
    script = write_story(folder, lines=120)
    paths = [str(folder / name) for name in ("out.jsonl", "dead.jsonl", "state")]
    options = Options(*paths, batch_rows=BATCH, buckets=2)
    run = Run(read_script(str(script)), options)
    run_on_spark(spark, run)
    statistics = run.statistics(0.0).document()
    run.close()
    return Finished(script, options, statistics)


def test_spark_gives_the_answers_of_a_run_without_it(finished: Finished) -> None:
    local = run_local(str(finished.script), batch_rows=BATCH, buckets=2)
    assert sorted_file(finished.out) == sorted_records(local.records) != []
    assert sorted_file(Path(str(finished.options.dead_letter))) == sorted_records(local.dead) != []
    assert {**finished.statistics, "elapsed_s": 0} == {**local.stats, "elapsed_s": 0}
    assert finished.statistics["batches"] >= 3 and all(
        query["outputs"] for query in finished.statistics["queries"].values()
    )


def test_a_finished_checkpoint_is_not_run_again(spark: SparkSession, finished: Finished) -> None:
    before = finished.out.read_bytes()
    run = Run(read_script(str(finished.script)), finished.options)
    assert run.driver.finished
    run_on_spark(spark, run)
    run.close()
    assert finished.out.read_bytes() == before
    assert run.statistics(0.0).document() == finished.statistics


def test_a_finished_checkpoint_cannot_be_followed(finished: Finished) -> None:
    with pytest.raises(SeineError, match="cannot be followed"):
        Run(read_script(str(finished.script)), replace(finished.options, follow=True))


def test_a_checkpoint_of_another_script_is_refused(finished: Finished, tmp_path: Path) -> None:
    other = finished.script.with_name("other.sql")
    other.write_text(finished.script.read_text().replace("amount > 80", "amount > 81"), encoding="utf-8")
    before = finished.out.read_bytes()
    with pytest.raises(SeineError, match="belongs to another script") as caught:
        Run(read_script(str(other)), finished.options)
    assert caught.value.hint
    assert finished.out.read_bytes() == before


def test_what_fails_in_a_worker_is_told_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=30)
    run = Run(
        read_script(str(script)), Options(str(tmp_path / "out.jsonl"), checkpoint=str(tmp_path / "state"))
    )
    shutil.rmtree(tmp_path / "state" / "networks")
    with pytest.raises(RunError, match=r"the pipeline stopped: .* is damaged: .*networks/") as caught:
        run_on_spark(spark, run)
    run.close()
    assert "\n" not in caught.value.message


def test_the_command_tells_a_failure_without_a_stack_trace(tmp_path: Path) -> None:
    script, state = write_story(tmp_path, lines=30), tmp_path / "state"
    Run(read_script(str(script)), Options(str(tmp_path / "out.jsonl"), checkpoint=str(state))).close()
    (state / "results").write_text("no folder")
    words = ["run", str(script), "--out", str(tmp_path / "out.jsonl"), "--checkpoint", str(state)]
    log = tmp_path / "command.log"
    words += ["--master", "local[2]", "--log", str(tmp_path / "spark.log")]
    process = start(*words, log=log)
    assert process.wait(240) == 3
    logged = log.read_text()
    assert "the pipeline stopped" in logged and "Traceback" not in logged
    assert logged.splitlines()[1:] == [f"  hint: Spark's log is {tmp_path / 'spark.log'}"], logged


@pytest.mark.long
def test_a_master_that_does_not_answer_is_told_in_one_line(tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=30)
    log = tmp_path / "command.log"
    words = ["run", str(script), "--master", "spark://127.0.0.1:1", "--log", str(tmp_path / "spark.log")]
    process = start(*words, log=log)
    assert process.wait(60) == 1
    logged = log.read_text()
    assert "no Spark master answers at spark://127.0.0.1:1" in logged and "Traceback" not in logged
