"""Figures of a service in which queries come and go, as a table."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.harness.saved_figures import Figures
from benchmarks.sides.commit_recorder import Wait
from benchmarks.sides.on_service import Live

from benchmarks.sharing import live_registration, sharing_sizes
from benchmarks.sides import on_service


def test_live_figures_as_a_table() -> None:
    stretches = [
        on_service.ServiceStretch(busy, 2, 1_000, 9.0 + busy, 4.0 + busy, 3 * busy) for busy in (0, 1)
    ]
    known = asdict(Live(stretches, [Wait(1, 3, 2.5), Wait(2, 4, 3.5)], [0.01, 0.02, 0.09]))
    figures, sizes = Figures(), []

    def side(size: on_service.Size) -> dict[str, object]:
        sizes.append(size)
        return known

    size = {name: value for name, value in sharing_sizes.FULL["live"].items() if name != "side"}
    for _ in range(2):
        measured = live_registration.measure(figures, **size, side=side)
    assert sizes == [on_service.Size(**size)]
    alone, registering = live_registration.tabulate(measured).rows[1:]
    assert alone == ("alone", "2", "0", "", "111", "1.00x", "4000.0", "1.00x", "", "", "")
    assert registering[1:8] == ("2", "3", "20, worst 90", "100", "0.90x", "5000.0", "0.80x")
    assert registering[8:] == ("1.5, worst 2", "3.5, worst 4", "3.0, worst 3.5")
