"""A bad neighbour harms nobody: good queries answer exactly, whatever the others do.

`make chaos` lets this go on for ten minutes and bounds the longest wait; within `make test-all` it is a
minute and no time is asserted. `SEINE_CHAOS_SECONDS` and `SEINE_CHAOS_BOUND` say otherwise;
`SEINE_SEEDS=7-8` is seed 7.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos.bad_queries import ComingAndGoing, GreedyFlood, GreedyQuery
from tests.chaos.bad_sources import bad_sources
from tests.chaos.chaos_report import Strike, longest_wait, report
from tests.chaos.full_disk import FullDisk
from tests.chaos.harmful_queries import harmful_queries
from tests.chaos.idle_hours import IdleHours
from tests.chaos.killings import DriverKill, OrderlyStop, PartKill, Pause
from tests.chaos.rotations import Rotation
from tests.chaos.rude_clients import rude_clients
from tests.chaos.scene import Nuisance, Scene
from tests.support.seeds import seeds

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.long]

SECONDS = float(os.environ.get("SEINE_CHAOS_SECONDS", "60"))
BOUND = float(os.environ["SEINE_CHAOS_BOUND"]) if "SEINE_CHAOS_BOUND" in os.environ else None
MOST_AT_ONCE = 3


@seeds(1)
def test_good_neighbours_notice_nothing_but_a_wait(tmp_path: Path, seed: int) -> None:
    print(f"chaos with seed {seed} in {tmp_path}")
    scene = Scene(tmp_path, seed)
    strikes: list[Strike] = []
    try:
        scene.go_on()
        begin = time.monotonic()
        rounds = _rounds(scene.rng)
        while time.monotonic() < begin + SECONDS:
            strikes += _strike(scene, next(rounds))
        wrong = scene.close()
        print(report(scene, seed, time.monotonic() - begin, strikes, BOUND))
        wrong += [f"it ended by itself, with status {status}" for _, status in scene.service.ended]
        assert not wrong, "\n".join([*wrong, scene.service.last_words()])
        assert BOUND is None or longest_wait(scene) <= BOUND
        assert scene.service.stop() == 0
    finally:
        scene.service.kill()


def _strike(scene: Scene, nuisances: list[Nuisance]) -> list[Strike]:
    """Let some strike one after the other, mend them in another order, and see that all goes on."""
    begins = {}
    for nuisance in nuisances:
        print(f"{time.strftime('%H:%M:%S')} {nuisance.name}", flush=True)
        begins[nuisance.name] = time.monotonic()
        nuisance.strike(scene)
        time.sleep(scene.rng.random())
    for nuisance in scene.rng.sample(nuisances, len(nuisances)):
        nuisance.mend(scene)
    scene.go_on()
    return [Strike(name, begin, time.monotonic()) for name, begin in begins.items()]


def _rounds(rng: Random) -> Iterator[list[Nuisance]]:
    """Some at a time; everyone comes before anyone comes again."""
    while True:
        deck = _everyone()
        rng.shuffle(deck)
        while deck:
            count = rng.randint(1, MOST_AT_ONCE)
            yield deck[:count]
            deck = deck[count:]


def _everyone() -> list[Nuisance]:
    parts = [PartKill(name) for name in ("the JVM", "all workers", "one worker")]
    drivers = [DriverKill(group) for group in (False, True)]
    rotations = [Rotation(copy) for copy in (False, True)]
    queries = [GreedyQuery(), GreedyFlood(), ComingAndGoing()]
    others = [OrderlyStop(), Pause(), FullDisk(), IdleHours()]
    return [
        *parts,
        *drivers,
        *rotations,
        *queries,
        *harmful_queries(),
        *others,
        *bad_sources(),
        *rude_clients(),
    ]
