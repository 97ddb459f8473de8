"""Probes and metrics over HTTP: who may ask, and what they say of a pipeline that does not run yet."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.support.http_rig import HttpRig

TOKEN = "a token of some length"


def test_probes_need_no_token_and_metrics_do(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, token=TOKEN)
    try:
        assert rig.ask("GET", "/healthz")[:2] == (200, "alive\n")
        assert rig.ask("GET", "/readyz")[0] == 503
        assert rig.ask("GET", "/metrics")[0] == rig.ask("GET", "/v1/status")[0] == 401
        assert rig.ask("GET", "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert rig.ask("POST", "/healthz")[0] == 405
        assert rig.ask("GET", "/healthz?x=1")[0] == 400
        assert rig.ask("GET", "/healthz/../v1/status")[0] in (401, 404)
    finally:
        rig.close()


def test_it_is_ready_while_a_pipeline_is_fed(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    feeding, seen = threading.Event(), []

    def watch() -> None:
        if not feeding.is_set():
            seen.append(rig.ask("GET", "/readyz")[0])
            feeding.set()

    driving = threading.Thread(target=rig.service.driver.drive, args=[watch])
    driving.start()
    assert feeding.wait(10)
    rig.close()
    driving.join(10)
    assert seen == [200] and not rig.service.driver.driving
