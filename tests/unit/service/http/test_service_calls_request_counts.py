"""However many paths and methods are asked for, there are no more series than routes."""

from __future__ import annotations

from pathlib import Path

from tests.support.http_rig import HttpRig


def test_hostile_requests_make_no_series(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    try:
        for number in range(20):
            rig.ask("GET", f"/v1/queries/q{number}")
            rig.ask("GET", f"/nowhere/{number}")
            rig.ask(f"M{number}", "/v1/queries")
            rig.ask("GET", "/v1/queries", Host=f"h{number}.example")
        text = str(rig.ask("GET", "/metrics")[1])
    finally:
        rig.close()
    series = dict(line.rsplit(" ", 1) for line in text.splitlines() if "http_requests_total{" in line)
    by_route = {key: int(float(value)) for key, value in series.items()}
    assert len(by_route) <= 4 and sum(by_route.values()) == 80
    assert any('route="/v1/queries/{name}"' in key and count == 20 for key, count in by_route.items())
