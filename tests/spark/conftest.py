"""One Spark session for all tests that run in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from seine.spark.session import open_session
from tests.support.command import python_path
from tests.support.kafka_broker import KafkaBroker, kafka_broker

collect_ignore = ["deadly_functions"]  # they end the process that imports them


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYTHONPATH"] = python_path()
    session = open_session("local[2]", str(tmp_path_factory.mktemp("spark") / "spark.log"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaBroker]:
    """One broker for all tests; those that need it are skipped where it cannot be had."""
    with kafka_broker() as broker:
        yield broker
