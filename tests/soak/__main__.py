"""`python -m tests.soak --minutes 120 --seed 7 --report docs/soak.md`: hours of a service, from a seed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.harness.kafka_broker import kafka_jars, running_broker

from seine.errors import SeineError
from tests.soak.changes import Changes, kill
from tests.soak.scene import Scene
from tests.soak.soak_report import judged, report

_CHECK_SECONDS = 20.0
_TIDY_SECONDS = 60.0
_REPORT_SECONDS = 600.0
_KILLS = 12  # on average
_MOST_PAUSE = 4.0


def main() -> int:
    """0 if every answer was right and all is flat; a run of less than an hour is not judged for flatness."""
    options = _options()
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        folder.mkdir(parents=True, exist_ok=True)
        servers = _broker(stack) if options.kafka else None
        print(f"soak with seed {options.seed} in {folder}, {servers or 'no broker'}", flush=True)
        scene = Scene(folder, options.seed, servers, options.rows)
        write = partial(_write, options, scene)
        ended = _run(scene, options.seed, options.minutes * 60, write)
        write(options.minutes * 60, ended)
    print(f"{options.report} is written: {ended}; {len(scene.wrong)} wrong", flush=True)
    flat = options.minutes < 60 or all(one.is_flat for one in judged(scene))
    return 0 if flat and not scene.wrong and ended == "it stopped with status 0" else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rows", type=int, default=50, help="most lines of a stream in half a second")
    parser.add_argument("--report", type=Path, default=Path("build/soak.md"))
    parser.add_argument("--folder", type=Path, help="where it happens (default: a temporary folder)")
    parser.add_argument("--no-kafka", dest="kafka", action="store_false")
    return parser.parse_args()


def _write(options: argparse.Namespace, scene: Scene, seconds: float, ended: str) -> None:
    options.report.write_text(report(scene, options.seed, seconds, ended))


def _broker(stack: ExitStack) -> str | None:
    """The address of a private broker; None where there is none to start."""
    try:
        return stack.enter_context(running_broker(kafka_jars())).servers
    except SeineError as error:
        print(f"without a topic: {error.message}", flush=True)
        return None


def _run(scene: Scene, seed: int, seconds: float, write: Callable[[float, str], None]) -> str:
    """Let it go on for that long; how it ended. What is wrong is reported as soon as it is known."""
    closed = threading.Event()
    killer = threading.Thread(target=_kill, args=(scene, Random(seed + 1), seconds / 2, closed), daemon=True)
    killer.start()
    try:
        _go_on(scene, seconds, write)
        status = scene.close()
    except Exception:
        scene.wrong.append(traceback.format_exc())
        scene.service.kill()
        return "it was broken off"
    finally:
        closed.set()
    odd = [status for _, status in scene.service.ended if status != -9]
    scene.wrong += [f"it ended by itself with status {status}" for status in odd]
    return f"it stopped with status {status}"


def _go_on(scene: Scene, seconds: float, write: Callable[[float, str], None]) -> None:
    begin = checked = tidied = written = time.monotonic()
    changes, reported = Changes(scene), 0
    while (now := time.monotonic()) < begin + seconds:
        changes.one()
        if now - checked > _CHECK_SECONDS:
            scene.check()
            checked = time.monotonic()
            for line in scene.wrong[reported:]:
                print(f"WRONG {line}", flush=True)
            reported = len(scene.wrong)
            print(
                f"{now - begin:.0f} s, {scene.checks} checks, {len(scene.queries)} queries, "
                f"{scene.truth.rows} rows, {sum(scene.happened.values())} changes",
                flush=True,
            )
        if now - written > _REPORT_SECONDS:
            write(now - begin, "it goes on")
            written = now
        if now - tidied > _TIDY_SECONDS:
            scene.tidy()
            tidied = now
        time.sleep(scene.rng.random() * _MOST_PAUSE)
    changes.close()


def _kill(scene: Scene, rng: Random, seconds: float, closed: threading.Event) -> None:
    """Kill something now and then, as long as this is the first half."""
    end = time.monotonic() + seconds
    while not closed.wait(min(rng.expovariate(_KILLS / seconds) + 10, max(end - time.monotonic(), 0) + 1)):
        if time.monotonic() > end:
            return
        kill(scene, rng)


if __name__ == "__main__":
    sys.exit(main())
