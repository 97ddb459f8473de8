"""A process that delivers for a sink, and kills itself before or after a step that a seed chooses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from seine.catalog.tables.stored import StoredSink
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.log_files import LogFiles
from seine.runtime.output.result_index import ResultIndex
from seine.sinks import delivery as delivery_module
from seine.sinks.delivery import Delivery, UndeliveredFiles
from seine.sinks.sink_progress import progress_of
from seine.sinks.sink_threads import open_target
from seine.storage.local import LocalStore
from tests.support.command import python_path
from tests.support.sink_rig import query_definitions, stored_sink


def deliver_through_kills(
    folder: Path,
    target: str,
    options: Mapping[str, str],
    kills: int,
    seed: int,
    most: int = 200,
    ends: Sequence[int] = (),
) -> int:
    """Deliver all results of a folder in processes that are killed so many times, then in one that is not.

    `ends` are those of micro-batches, which are committed one after the other while a process delivers.
    """
    words = [str(folder), target, json.dumps([*options.items()]), str(seed), str(kills), str(most)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.sink_process", *words, json.dumps([*ends])],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def around(module: Any, name: str, maybe: Callable[[], None]) -> None:
    """Let a function or method be a step."""
    real = getattr(module, name)

    def step(*arguments: Any, **more: Any) -> Any:
        maybe()
        result = real(*arguments, **more)
        maybe()
        return result

    setattr(module, name, step)


def _steps(kind: str, maybe: Callable[[], None]) -> None:
    """Where a delivery leaves something behind."""
    around(delivery_module, "save_progress", maybe)
    if kind == "kafka":
        from seine.sinks import kafka_client

        class Producer(kafka_client.confluent_kafka.Producer):  # type: ignore[name-defined,misc]
            pass

        for name in (
            "begin_transaction",
            "produce_batch",
            "send_offsets_to_transaction",
            "commit_transaction",
        ):
            around(Producer, name, maybe)
        kafka_client.confluent_kafka.Producer = Producer
    if kind == "webhook":
        from seine.sinks import sink_threads

        around(sink_threads.WebhookTarget, "_post", maybe)
    if kind == "postgresql":
        from seine.sinks import postgres_tables, postgres_target

        around(postgres_tables, "append_rows", maybe)
        around(postgres_tables, "delete_rows", maybe)
        around(postgres_target.psycopg.Connection, "execute", maybe)
        around(postgres_target.psycopg.Transaction, "__exit__", maybe)


def _deliver(
    folder: Path, sink: StoredSink, most: int, ends: Sequence[int], maybe: Callable[[], None]
) -> None:
    """Deliver all results, and perhaps die at one of the steps."""
    _steps(sink.definition.kind, maybe)
    results = folder / "results.jsonl"
    waiting = ends or [results.stat().st_size]
    index = ResultIndex(str(folder / "index"), LogFiles(str(results)), waiting[0])
    place = open_target(sink, query_definitions(), OptionSecrets())
    aside = UndeliveredFiles(str(folder / "undelivered"))
    delivery = Delivery(sink, index, progress_of(LocalStore(str(folder)), "s"), aside, place, most)
    delivery.begin()
    for end in waiting:
        if end > index.settled:
            index.settle(end)
        while delivery.step():
            pass
    place.close()


def _status(work: Callable[[], None]) -> int:
    """How a process ends that does some work, forked from one that has imported everything."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _main(folder: str, target: str, options: str, seed: str, kills: str, most: str, ends: str) -> None:
    sink = stored_sink(target, options=tuple(map(tuple, json.loads(options))))
    for killed in range(int(kills) + 1):
        random, chance = Random(int(seed) + killed), 0.12 if killed < int(kills) else 0.0

        def maybe(random: Random = random, chance: float = chance) -> None:
            if random.random() < chance:
                os.kill(os.getpid(), signal.SIGKILL)

        status = _status(partial(_deliver, Path(folder), sink, int(most), json.loads(ends), maybe))
        if status != -signal.SIGKILL:
            print(killed)
            sys.exit(status)
    sys.exit("a process that nobody killed was killed")


if __name__ == "__main__":
    _main(*sys.argv[1:])
