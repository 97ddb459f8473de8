"""Which master a run uses, and what is said of one that does not answer."""

from __future__ import annotations

import socket

import pytest

from seine.errors import SeineError
from seine.spark.master import chosen_master, require_master


def test_the_word_of_the_user_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_MASTER", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert chosen_master(None) == "local[*]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen_master(None) is None, "spark-submit has chosen"
    monkeypatch.setenv("SPARK_MASTER", "yarn")
    assert chosen_master(None) == "yarn"
    assert chosen_master("local[3]") == "local[3]"


@pytest.mark.parametrize("url", ["spark://127.0.0.1:1,127.0.0.1:2", "spark://127.0.0.1", "spark://[::1]:1"])
def test_a_master_that_does_not_answer_is_refused(url: str) -> None:
    with pytest.raises(SeineError, match="no Spark master answers"):
        require_master(url)


def test_one_master_of_several_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")
    require_master("local[2]")
