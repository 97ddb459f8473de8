"""A pipeline killed at any moment goes on where it was: nothing lost, nothing repeated."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from seine.run_local import run_local
from tests.support.command import checkpointed_run, kill, start
from tests.support.progress import last_delivered, wait_for_batch
from tests.support.stateful_script import silent_queries, sorted_file, sorted_records, write_story

pytestmark = [pytest.mark.spark, pytest.mark.long]

KILLS = 5


def test_output_is_complete_after_many_kills(tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=500)
    undisturbed = run_local(str(script)).records
    assert silent_queries(undisturbed) == set()
    expected = sorted_records(undisturbed)
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    words = checkpointed_run(script, 15, "--master", "local[2]")
    rng = random.Random(11)
    moved = 0
    for _ in range(KILLS):
        before = last_delivered(state)
        process = start(*words, log=tmp_path / "command.log", SEINE_SHARING="two-by-two")
        wait_for_batch(state, before, process)
        time.sleep(rng.random() * 0.4)
        assert process.poll() is None, "it finished before it could be killed: give it more input"
        kill(process)
        moved += last_delivered(state) != before
    assert moved == KILLS
    final = start(*words, log=tmp_path / "command.log", SEINE_SHARING="two-by-two")
    assert final.wait(300) == 0, (tmp_path / "command.log").read_text()
    assert sorted_file(out) == expected != []
