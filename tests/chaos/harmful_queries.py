"""Queries whose work no budget of candidates sees: long texts, functions that hang or die, memory, trials."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from seine.errors import RunError, SeineError
from seine.service.client import Client
from tests.chaos.scene import Scene

_LONG = 300_000  # letters
_TRIALS = 3  # at once
_BYTES_A_ROW = 400_000  # of the heavy trial
_MOST_BYTES = 256 << 20  # of a file that a trial may write
_REASONS = (  # what a trial says that takes too much, or that comes at a bad time
    "the trial needs more memory than the 512 MiB that one may take",
    "the trial writes files larger than the 256 MiB that it may",
    "the trial took longer than the 20 seconds that one may take",
    "more than 67,108,864 bytes",  # of values, or of batches
    "scripts are being tried already",
    "the disk is full",
    "no service runs",
)
_HEAVY_TRIAL = (
    "CREATE QUERY heavy AS SELECT repeat('abcdefghij', 10000) AS p, repeat('bcdefghija', 10000) AS q,"
    " repeat('cdefghijab', 10000) AS r, repeat('defghijabc', 10000) AS s, id FROM g;"
)


@dataclass
class HarmfulQuery:
    """A query over a stream of its own; it fails, and the stream's other queries do not.

    One that is harmless to others, though slow, may also come to its end.
    """

    name: str
    select: str  # its items
    texts: Sequence[str]
    kind: str  # of its failure
    may_end: bool = False
    _number: int = field(default=0, init=False)

    @property
    def _stream(self) -> str:
        return f"texts{self._number}"

    @property
    def query(self) -> str:
        return f"harmful{self._number}"

    def strike(self, scene: Scene) -> None:
        self._number = next(scene.numbers)
        self._path = scene.folder / f"{self._stream}.jsonl"
        self._path.touch()
        scene.service.change(
            f"CREATE STREAM {self._stream} (t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5"
            f" FROM '{self._path.name}';"
            f"CREATE QUERY {self.query} AS SELECT {self.select} FROM {self._stream};"
            f"CREATE QUERY beside{self._number} AS SELECT ts FROM {self._stream};"
        )
        with self._path.open("a") as file:
            file.writelines(json.dumps({"t": text, "ts": ts}) + "\n" for ts, text in enumerate(self.texts))

    def mend(self, scene: Scene) -> None:
        scene.service.wait(f"{self.name} fails", lambda client: self._is_over(scene))
        self._go(scene, self.query)

    def _is_over(self, scene: Scene) -> bool:
        query = scene.query(self.query)
        if query["state"] != "failed":
            return bool(self.may_end and query["outputs"])
        assert query["failure"]["kind"] == self.kind, query["failure"]
        return True

    def _go(self, scene: Scene, *queries: str) -> None:
        """Drop what is left, once the query beside has told everything."""
        beside = f"beside{self._number}"
        scene.service.wait(beside, lambda client: scene.query(beside)["outputs"] == len(self.texts))
        assert scene.query(beside)["state"] == "running"
        drops = "".join(f"DROP QUERY {query};" for query in (*queries, beside))
        scene.service.change(f"{drops} DROP STREAM {self._stream};")


class DroppedKiller(HarmfulQuery):
    """A query that kills its worker, and is dropped as soon as its row is admitted."""

    def strike(self, scene: Scene) -> None:
        super().strike(scene)

        def is_admitted(client: Client) -> bool:
            return bool(scene.stream(self._stream)["position"]["arrivals"] == len(self.texts))

        scene.service.wait("the row that kills is admitted", is_admitted)
        scene.service.change(f"DROP QUERY {self.query};")

    def mend(self, scene: Scene) -> None:
        self._go(scene)


class TooManyWindows:
    """A window function that makes a thousand million rows of one: it is refused."""

    name = "too many windows"

    def strike(self, scene: Scene) -> None:
        query = f"windows{next(scene.numbers)}"
        text = (
            f"CREATE QUERY {query} AS SELECT window(ts, 1000000000, 1) AS w, COUNT(*) AS n FROM g GROUP BY 1;"
        )
        with pytest.raises(SeineError, match="windows"):
            scene.service.ask(lambda client: client.register(text, file="w.sql", folder=str(scene.folder)))

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""


class HeavyTrials:
    """Scripts that are tried out, several at once, whose answers would take all memory."""

    name = "heavy trials"

    def strike(self, scene: Scene) -> None:
        self._answers: list[str] = []  # the reasons of those that gave no rows, or too many
        self._threads = [
            threading.Thread(target=self._try, args=(scene,), daemon=True) for _ in range(_TRIALS)
        ]
        for thread in self._threads:
            thread.start()

    def _try(self, scene: Scene) -> None:
        body = {"script": _HEAVY_TRIAL, "folder": str(scene.folder)}
        try:
            answer = Client(str(scene.service.state))._object("POST", "/v1/try", body)
        except OSError:  # the service ended meanwhile
            return
        except SeineError as error:
            if not isinstance(error, RunError) or "trial failed" in error.message:
                self._answers.append(error.message)
            return
        failures = [*answer["failed"].values()]
        if failures or answer["total"] * _BYTES_A_ROW > _MOST_BYTES:
            self._answers.append(failures[0] if failures else f"{answer['total']} rows")

    def mend(self, scene: Scene) -> None:
        scene.service.ask(lambda client: client.status())
        for thread in self._threads:
            thread.join()
        wrong = [one for one in self._answers if not any(reason in one for reason in _REASONS)]
        assert wrong == [], "what takes too much is told its limit"


def harmful_queries() -> list[HarmfulQuery | TooManyWindows | HeavyTrials]:
    """One of each sort."""
    long, letters = "ab" * (_LONG // 2), ["a" * _LONG]
    return [
        HarmfulQuery(
            "distance of long texts", "levenshtein(t, reverse(t)) AS x", [long], "budget", may_end=True
        ),
        HarmfulQuery(
            "backtracking pattern", "regexp_count(t, 'a.*b|a') AS x", letters, "budget", may_end=True
        ),
        HarmfulQuery("function that hangs", "hangs(t) AS x", ["a", "hang", "b"], "function"),
        HarmfulQuery("function that dies", "dies(t) AS x", ["a", "die", "b"], "function"),
        HarmfulQuery("hog of memory", "repeat(t, 3000) AS x", ["abcdefghij" * 10] * 9_000, "memory"),
        HarmfulQuery("killer of its worker", "reverse(t) AS x", ["a", "dies", "b"], "death"),
        DroppedKiller("dropped killer", "reverse(t) AS x", ["a", "dies", "b"], "death"),
        TooManyWindows(),
        HeavyTrials(),
    ]
