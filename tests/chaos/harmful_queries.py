"""Queries whose work no budget of candidates sees: long texts, functions that hang or die, memory, trials."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from seine.errors import SeineError
from seine.service.client import Client
from tests.chaos.scene import Scene

_LONG = 300_000  # letters
_TRIALS = 3  # at once
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
        return bool(query["state"] == "failed" or (self.may_end and query["outputs"]))

    def _go(self, scene: Scene, *queries: str) -> None:
        """Drop what is left, once the query beside has told everything."""
        beside = f"beside{self._number}"
        scene.service.wait(beside, lambda client: scene.query(beside)["outputs"] == len(self.texts))
        assert scene.query(beside)["state"] == "running"
        drops = "".join(f"DROP QUERY {query};" for query in (*queries, beside))
        scene.service.change(f"{drops} DROP STREAM {self._stream};")


class DroppedKiller(HarmfulQuery):
    """A query that ends its process, and is dropped as soon as its row is admitted."""

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
        self._threads = [
            threading.Thread(target=self._try, args=(scene,), daemon=True) for _ in range(_TRIALS)
        ]
        for thread in self._threads:
            thread.start()

    def _try(self, scene: Scene) -> None:
        body = {"script": _HEAVY_TRIAL, "folder": str(scene.folder)}
        try:
            Client(str(scene.service.state))._object("POST", "/v1/try", body)
        except (SeineError, OSError):  # it is refused, or the service ended for another reason
            return

    def mend(self, scene: Scene) -> None:
        scene.service.ask(lambda client: client.status())
        for thread in self._threads:
            thread.join()


def harmful_queries() -> list[HarmfulQuery | TooManyWindows | HeavyTrials]:
    """One of each sort."""
    long = "ab" * (_LONG // 2)
    return [
        HarmfulQuery("similarity of long texts", "jaro_winkler_similarity(t, reverse(t)) AS x", [long]),
        HarmfulQuery("backtracking pattern", "regexp_count(t, 'a.*b|a') AS x", ["a" * _LONG], may_end=True),
        HarmfulQuery("function that hangs", "hangs(t) AS x", ["a", "hang", "b"]),
        HarmfulQuery("function that dies", "dies(t) AS x", ["a", "die", "b"]),
        HarmfulQuery("hog of memory", "repeat(t, 3000) AS x", ["abcdefghij" * 10] * 9_000),
        DroppedKiller("dropped killer", "dies(t) AS x", ["a", "die", "b"]),
        TooManyWindows(),
        HeavyTrials(),
    ]
