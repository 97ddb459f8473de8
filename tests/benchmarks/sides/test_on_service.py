"""A service is measured while queries are registered."""

from __future__ import annotations

import time

import pytest

from benchmarks.sides import on_service
from seine.errors import RunError
from seine.run_local import LocalHost
from seine.service.service import Service


def test_queries_come_while_a_service_runs() -> None:
    """Without Spark, with a pause after each micro-batch in which the client gets its turn."""

    def host(service: Service, log: str) -> None:
        local = LocalHost(service.deployment)
        while service.driver.run_some(local.run):
            time.sleep(0.05)

    measured = on_service.run_side(on_service.Size(5, 4_000, 1, 3, 0.02), host)
    assert [one.busy for one in measured.stretches] == list(on_service.STRETCHES)
    assert {(one.batches, one.rows) for one in measured.stretches} == {(3, 12_000)}
    assert [one.changes > 0 for one in measured.stretches] == list(on_service.STRETCHES)
    assert sum(one.changes for one in measured.stretches) <= len(measured.changes)  # some while it settles
    assert {one.batches for one in measured.waits} == {1}


def test_a_service_that_ends_early_is_an_error() -> None:
    with pytest.raises(RunError, match="ended after 0 of 1 micro-batches"):
        on_service.run_side(on_service.Size(1, 500, 1, 1, 0.1), lambda service, log: None)
