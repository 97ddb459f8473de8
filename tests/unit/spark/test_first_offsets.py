"""Where reading began is asked once, whatever happens to the topic or to us afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.intake.spark_feed import SourceBranch
from seine.spark.first_offsets import first_offsets
from seine.topics.offset_ranges import Offsets


def test_the_first_answer_stays(tmp_path: Path) -> None:
    answers: list[Offsets] = [{"bids": {"0": 3}}, {"bids": {"0": 9}}]
    branch = SourceBranch('a/"b"', 2)
    for _ in range(2):
        assert first_offsets(str(tmp_path), branch, lambda: answers.pop(0)) == {"bids": {"0": 3}}
    assert first_offsets(str(tmp_path), SourceBranch('a/"b"', 5), lambda: answers.pop(0)) == {
        "bids": {"0": 9}
    }


def test_a_broker_that_does_not_answer_leaves_nothing(tmp_path: Path) -> None:
    def silent() -> Offsets:
        raise RuntimeError("silent")

    with pytest.raises(RuntimeError, match="silent"):
        first_offsets(str(tmp_path), SourceBranch("bid"), silent)
    assert first_offsets(str(tmp_path), SourceBranch("bid"), lambda: {"t": {"0": 1}}) == {"t": {"0": 1}}
