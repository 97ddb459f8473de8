"""A process that delivers for a sink, and kills itself before or after a step that a seed chooses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from seine.catalog import StoredSink
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.result_index import ResultIndex
from seine.sinks import delivery as delivery_module
from seine.sinks.delivery import Delivery
from seine.sinks.sink_threads import open_target
from tests.support.command import python_path
from tests.support.sink_rig import query_definitions, stored_sink


def deliver_through_kills(
    folder: Path, target: str, options: Mapping[str, str], kills: int, seed: int, most: int = 200
) -> int:
    """Deliver all results of a folder in processes that are killed so many times, then in one that is not."""
    for killed in range(kills + 1):
        chance = 0.12 if killed < kills else 0.0
        words = [
            str(folder),
            target,
            json.dumps([*options.items()]),
            str(seed + killed),
            str(chance),
            str(most),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.sink_process", *words],
            env={**os.environ, "PYTHONPATH": python_path()},
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return killed
        assert done.returncode == -signal.SIGKILL, done.stderr
    raise AssertionError("a process that nobody killed was killed")


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
        from seine.sinks import webhook_target

        around(webhook_target.WebhookTarget, "_post", maybe)
    if kind == "postgresql":
        from seine.sinks import postgres_tables, postgres_target

        around(postgres_tables, "append_rows", maybe)
        around(postgres_target.psycopg.Connection, "execute", maybe)
        around(postgres_target.psycopg.Transaction, "__exit__", maybe)


def _main(folder: str, target: str, options: str, seed: str, chance: str, most: str) -> None:
    random = Random(int(seed))

    def maybe() -> None:
        if random.random() < float(chance):
            os.kill(os.getpid(), signal.SIGKILL)

    sink: StoredSink = stored_sink(target, options=tuple(map(tuple, json.loads(options))))
    _steps(sink.definition.kind, maybe)
    results = Path(folder) / "results.jsonl"
    index = ResultIndex(str(Path(folder) / "index"), str(results), results.stat().st_size)
    place = open_target(sink, query_definitions(), OptionSecrets())
    delivery = Delivery(sink, index, str(Path(folder) / "s.json"), place, int(most))
    delivery.begin()
    while delivery.step():
        pass
    place.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
