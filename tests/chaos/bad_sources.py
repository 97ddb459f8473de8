"""Sources that are poisoned, stay so for a while and are mended: their own rows come once, too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seine.errors import SeineError
from tests.chaos.scene import Scene

_ROWS = 50  # of each file


class BadSource:
    """A stream in a folder of its own, with a query that reports all of it.

    `write` makes a good file of values, `poison` a bad one; what is mended is written again by `write`.
    """

    def __init__(self, name: str, format_: str, write: Writer, poison: Writer) -> None:
        self.name = name
        self._format, self._write, self._poison = format_, write, poison

    def strike(self, scene: Scene) -> None:
        number = next(scene.numbers)
        self._stream, self._query = f"bad{number}", f"of_bad{number}"
        self._folder = scene.folder / self._stream
        self._folder.mkdir()
        script = f"""CREATE STREAM {self._stream} (a BIGINT, ts BIGINT) TIMESTAMP BY ts
            FROM '{self._stream}' FORMAT {self._format};
            CREATE QUERY {self._query} AS SELECT a FROM {self._stream};"""
        self._poison(self._folder / "0", range(_ROWS))
        self._refused(scene, script)
        (self._folder / "0").unlink()
        self._write(self._folder / "1", range(_ROWS))
        scene.service.change(script)
        self._poison(self._folder / "2", range(_ROWS, 2 * _ROWS))

    def _refused(self, scene: Scene, script: str) -> None:
        try:
            scene.service.ask(lambda c: c.register(script, file="bad.sql", folder=str(scene.folder)))
        except SeineError:
            return
        raise AssertionError(f"a stream with a bad file was let in: {self.name}")

    def mend(self, scene: Scene) -> None:
        scene.service.wait(
            f"{self._stream} is failed", lambda client: scene.stream(self._stream)["state"] == "failed"
        )
        assert scene.stream(self._stream)["reason"]
        self._write(self._folder / "new", range(_ROWS, 2 * _ROWS))
        os.replace(self._folder / "new", self._folder / "2")
        expected = list(range(2 * _ROWS))
        scene.service.wait(
            f"{self._stream} is read to its end",
            lambda client: len(scene.records(self._query)) >= len(expected),
        )
        values = sorted(record["row"]["a"] for record in scene.records(self._query))
        assert values == expected, f"{self._stream}: {values}"
        assert scene.stream(self._stream)["state"] == "running"
        _drop(scene, self._stream, self._query)


class VanishedFile:
    """A followed file that is removed and comes again with other lines."""

    name = "vanished file"

    def strike(self, scene: Scene) -> None:
        number = next(scene.numbers)
        self._stream, self._query = f"gone{number}", f"of_gone{number}"
        self._path = scene.folder / f"{self._stream}.jsonl"
        _write_json(self._path, range(_ROWS))
        scene.service.change(
            f"CREATE STREAM {self._stream} (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '{self._path.name}';"
            f"CREATE QUERY {self._query} AS SELECT a FROM {self._stream};"
        )
        scene.service.wait(
            "it is read", lambda client: scene.stream(self._stream)["position"]["arrivals"] == _ROWS
        )
        self._path.unlink()

    def mend(self, scene: Scene) -> None:
        scene.service.wait("it is missed", lambda client: scene.stream(self._stream)["state"] == "failed")
        _write_json(self._path, range(_ROWS, 2 * _ROWS))
        scene.service.wait("it goes on", lambda client: len(scene.records(self._query)) >= 2 * _ROWS)
        values = sorted(record["row"]["a"] for record in scene.records(self._query))
        assert values == list(range(2 * _ROWS)), f"{self._stream}: {values}"
        _drop(scene, self._stream, self._query)


class FilthyLines:
    """Lines that are no JSON, endless, binary, or of the year 9999, among good ones: dead letters."""

    name = "filthy lines"

    def strike(self, scene: Scene) -> None:
        number = next(scene.numbers)
        self._stream, self._query = f"dirt{number}", f"of_dirt{number}"
        path = scene.folder / f"{self._stream}.jsonl"
        filth = [b"\x00\xff\xfe", b'{"a": ' + b"9" * 100_000 + b"}", b"[" * 5_000]
        filth += [b'{"a": 1, "ts": "9999-01-01T00:00:00Z"}', b'{"a": 1, "ts": "1999-01-01T00:00:00Z"}']
        filth += [b'{"a": 1, "ts": "2024-13-77"}', b'{"a": 1, "a": 2, "b": 3}', b"{}", b"null"]
        good = [json.dumps({"a": a, "ts": f"2024-01-01T00:00:{a:02d}Z"}).encode() for a in range(_ROWS)]
        lines = [line for pair in zip(filth * 6, good, strict=False) for line in pair]
        self._good, self._bad = len(lines) // 2, len(lines) // 2
        path.write_bytes(b"\n".join(lines) + b"\n")
        scene.service.change(
            f"CREATE STREAM {self._stream} (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM '{path.name}';"
            f"CREATE QUERY {self._query} AS SELECT a FROM {self._stream};"
        )

    def mend(self, scene: Scene) -> None:
        scene.service.wait("it is read", lambda client: len(scene.records(self._query)) >= self._good)
        values = [record["row"]["a"] for record in scene.records(self._query)]
        assert sorted(values) == list(range(self._good)), f"{self._stream}: {values}"
        assert scene.stream(self._stream)["refused"]["dead"] == self._bad
        _drop(scene, self._stream, self._query)


def _drop(scene: Scene, stream: str, query: str) -> None:
    scene.service.change(f"DROP QUERY {query}; DROP STREAM {stream};")


Writer = Callable[[Path, range], None]


def _write_json(path: Path, values: range) -> None:
    path.write_text("".join(json.dumps({"a": a, "ts": a}) + "\n" for a in values))


def _write_csv(path: Path, values: range) -> None:
    path.write_text("a,ts\n" + "".join(f"{a},{a}\n" for a in values))


def _write_headless(path: Path, values: range) -> None:
    path.write_text("".join(f"{a},{a}\n" for a in values))


def _write_parquet(path: Path, values: range) -> None:
    pq.write_table(pa.table({"a": [*values], "ts": [*values]}), path)


def _write_other_types(path: Path, values: range) -> None:
    pq.write_table(pa.table({"a": [str(a) for a in values], "ts": [*values]}), path)


def bad_sources() -> list[BadSource | VanishedFile | FilthyLines]:
    """One of each sort."""
    return [
        BadSource("CSV without header", "CSV", _write_csv, _write_headless),
        BadSource("Parquet of another type", "PARQUET", _write_parquet, _write_other_types),
        VanishedFile(),
        FilthyLines(),
    ]
