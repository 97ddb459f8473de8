"""The scene: a service, its good neighbours, those who watch, and what nuisances need to strike it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from random import Random
from typing import Any, Protocol

from tests.chaos.good_neighbours import QUERIES, STREAMS, WATCHED, GoodNeighbours, wrong_answers
from tests.chaos.wait_watch import WaitWatch
from tests.support.command import python_path
from tests.support.service_process import ALIVE_SECONDS, ServiceProcess

_CLOCK = Path(__file__).parent / "jumping_clock"
_DEADLY = Path(__file__).parents[1] / "spark" / "deadly_functions"
_PIPELINE = ["--master", "local[2]", "--buckets", "2", "--depth", "2", "--batch-rows", "2000"]
_BUDGET = ["--budget-candidates", "3000000", "--worker-memory", "1500MB"]
_FUNCTIONS = ["--udf", str(Path(__file__).parent / "harmful_functions.py")]


class Nuisance(Protocol):
    """A bad neighbour: it strikes, and later what it did is mended, or is seen to have failed."""

    name: str

    def strike(self, scene: Scene) -> None: ...

    def mend(self, scene: Scene) -> None: ...


class Scene:
    """Everything that takes part, in one folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.rng = Random(seed)
        self.numbers = iter(range(1, 1_000_000))  # for names that are used once
        self.good = GoodNeighbours(folder, Random(seed + 1))
        self.clock = folder / "clock"
        self.service = ServiceProcess(
            folder,
            *_PIPELINE,
            *_BUDGET,
            *_FUNCTIONS,
            PYTHONPATH=os.pathsep.join([str(_CLOCK), str(_DEADLY), python_path()]),
            SEINE_CHAOS_CLOCK=str(self.clock),
        )
        self.service.change(STREAMS + QUERIES)
        state = self.service.state
        self.watches = {name: WaitWatch(state, self.good, name, query) for name, query in WATCHED.items()}
        for thread in (self.good, *self.watches.values()):
            thread.start()

    def go_on(self) -> None:
        """Until something can be read that was written from now on."""
        now, deadline = time.monotonic(), time.monotonic() + ALIVE_SECONDS
        while any(watch.newest < now for watch in self.watches.values()):
            self.service.supervise()
            assert time.monotonic() < deadline, f"nothing moves\n{self.service.last_words()}"
            time.sleep(0.1)

    def stream(self, name: str) -> dict[str, Any]:
        """What the service says of a stream."""
        streams = self.service.ask(lambda client: client.streams())
        return next(one for one in streams if one["stream"] == name)

    def query(self, name: str) -> dict[str, Any]:
        """What the service says of a query."""
        queries = self.service.ask(lambda client: client.queries())
        return next(one for one in queries if one["query"] == name)

    def records(self, query: str) -> list[dict[str, Any]]:
        """All that a query has reported."""

        def read(client: Any) -> bytes:
            return b"".join(client.tail(query, "start", follow=False))

        return [json.loads(line) for line in self.service.ask(read).splitlines()]

    def settle(self) -> None:
        """Until every line is admitted and all that was admitted is delivered."""
        lines = self.good.lines
        self.service.wait(
            "every line is admitted",
            lambda client: all(
                one["position"]["arrivals"] + one["refused"]["dead"] >= len(lines[one["stream"]])
                for one in client.streams()
                if one["stream"] in lines
            ),
        )
        self.service.wait("all is delivered", lambda client: _delivered(client.status()))

    def close(self) -> list[str]:
        """End the input and say what is wrong: with answers, with tails, with counts of dead letters."""
        self.good.close()
        self.settle()
        answers = self.good.answers(self.folder / "truth")
        records = {query: self.records(query) for query in answers.script.queries}
        wrong = wrong_answers(answers, records, self.rng)
        wrong += [f"{query} has no records" for query, reported in records.items() if not reported]
        for name, watch in self.watches.items():
            expected = sorted(record["row"]["id"] for record in records[WATCHED[name]])
            deadline = time.monotonic() + ALIVE_SECONDS
            while len(watch.ids) < len(expected) and time.monotonic() < deadline:
                time.sleep(0.1)
            watch.close()
            if sorted(watch.ids) != expected:
                wrong.append(f"the tail of {name} read {len(watch.ids)} records, not {len(expected)}")
            dead, known = self.stream(name)["refused"]["dead"], sum(one == name for one, _ in answers.dead)
            if dead != known:
                wrong.append(f"{name} has {dead} dead letters, not {known}")
        return wrong


def _delivered(status: dict[str, Any]) -> bool:
    return bool(status["entry"] == status["written"])
