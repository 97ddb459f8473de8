"""Queries that want too much, or come and go."""

from __future__ import annotations

import json

from tests.chaos.scene import Scene

_FLOOD = 400  # rows at one instant: their fourfold product is 25 thousand million
_CROSS = "SELECT w.{0} AS v FROM {1} w, {1} x, {1} y, {1} z WHERE w.{0} + x.{0} + y.{0} + z.{0} < 0"


class GreedyQuery:
    """A fourfold cross join of a good stream: it fails, and the stream's other queries do not."""

    name = "greedy query"

    def strike(self, scene: Scene) -> None:
        self._query = f"greedy{next(scene.numbers)}"
        scene.service.change(f"CREATE QUERY {self._query} AS {_CROSS.format('v', 'g')};")

    def mend(self, scene: Scene) -> None:
        _wait_for_failure(scene, self._query)
        scene.service.change(f"DROP QUERY {self._query};")


class GreedyFlood:
    """The same over a stream of its own, all of whose rows have one time."""

    name = "greedy flood"

    def strike(self, scene: Scene) -> None:
        number = next(scene.numbers)
        self._stream, self._query = f"flood{number}", f"greedy{number}"
        path = scene.folder / f"{self._stream}.jsonl"
        path.write_text("".join(json.dumps({"a": a, "ts": 7}) + "\n" for a in range(_FLOOD)))
        scene.service.change(
            f"CREATE STREAM {self._stream} (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM '{path.name}';"
            f"CREATE QUERY {self._query} AS {_CROSS.format('a', self._stream)};"
        )

    def mend(self, scene: Scene) -> None:
        _wait_for_failure(scene, self._query)
        scene.service.change(f"DROP QUERY {self._query}; DROP STREAM {self._stream};")


class ComingAndGoing:
    """A harmless query that shares with the good ones, perhaps needs more stages, and is dropped again."""

    name = "coming and going"

    def strike(self, scene: Scene) -> None:
        self._query = f"guest{next(scene.numbers)}"
        least = scene.rng.randrange(60)
        scene.service.change(
            f"CREATE QUERY {self._query} AS SELECT a.id AS x, b.id AS y, COUNT(*) AS n FROM g a, g b, h c"
            f" WHERE a.k = b.k AND b.k = c.k AND a.ts < b.ts AND a.v > {least} GROUP BY a.id, b.id;"
        )

    def mend(self, scene: Scene) -> None:
        scene.service.change(f"DROP QUERY {self._query};")


def _wait_for_failure(scene: Scene, query: str) -> None:
    scene.service.wait(f"{query} fails", lambda client: scene.query(query)["state"] == "failed")
    failure = scene.query(query)["failure"]
    assert failure["kind"] == "budget" and "candidates" in failure["reason"], failure
