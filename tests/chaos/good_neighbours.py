"""Good neighbours: two streams that go on, queries over them, and the truth that answers are compared with.

Every line that is written is kept, in order, whatever becomes of the file that it was written to: rotated,
cut off, read late. The reference (DuckDB over all tuples) is computed from these lines alone.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.reference.answers import Answers
from tests.reference.compare import difference, first_early_minus, net_of
from tests.reference.verdict import Records, short, start_of

_KEYS = 150
_TICK_SECONDS = 0.2
_MOST_LINES = 10  # of a stream at an instant
_CLOSING_TIME = 1000  # units of event time after which every window has passed
_LOOKED_AT = 40  # instants at which changelogs are compared

STREAMS = """\
CREATE STREAM g (id BIGINT, k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts
  WINDOW 40 LATENESS 3 FROM 'g.jsonl';
CREATE STREAM h (id BIGINT, k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts
  WINDOW 25 FROM 'h.jsonl';
"""
WATCHED = {"g": "fresh_g", "h": "fresh_h"}  # queries that report every line of a stream
QUERIES = """\
CREATE QUERY fresh_g AS SELECT id FROM g;
CREATE QUERY fresh_h AS SELECT id, k FROM h;
CREATE QUERY big AS SELECT id, v FROM g WHERE v > 80 AND k < 100;
CREATE QUERY pairs AS SELECT a.id AS x, b.id AS y FROM g a, g b WHERE a.k = b.k AND a.ts < b.ts;
CREATE QUERY across AS SELECT g.id AS x, h.id AS y FROM g, h WHERE g.k = h.k AND g.v < h.v;
CREATE QUERY totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM g GROUP BY k;
CREATE QUERY kinds AS SELECT DISTINCT k FROM h WHERE v > 50;
CREATE QUERY missing AS SELECT k FROM g EXCEPT SELECT k FROM h;
"""


class GoodNeighbours(threading.Thread):
    """Writes lines at a steady pace until it is closed; some are late, broken or written in two pieces."""

    def __init__(self, folder: Path, rng: Random) -> None:
        super().__init__(daemon=True)
        self.folder, self._rng = folder, rng
        self.lines: dict[str, list[str]] = {"g": [], "h": []}
        self.written: dict[str, dict[int, float]] = {"g": {}, "h": {}}  # when each id was written
        self.in_other_files: dict[str, int] = {"g": 0, "h": 0}  # lines of files that were rotated away
        self._instant = 0
        self._next_id = 0
        self._turn = threading.RLock()  # held while files are written or changed
        self._closed = threading.Event()
        for stream in self.lines:
            self.path(stream).touch()

    def path(self, stream: str) -> Path:
        return self.folder / f"{stream}.jsonl"

    def run(self) -> None:
        while not self._closed.wait(_TICK_SECONDS):
            with self._turn:
                self._tick()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nothing is written within this."""
        with self._turn:
            yield

    def rotate(self, stream: str, copy: bool) -> None:
        """Put what was written aside, by name or as a copy, and begin anew."""
        with self._turn:
            path, number = self.path(stream), len(list(self.folder.glob(f"{stream}.jsonl.*")))
            aside = path.with_suffix(f".jsonl.{number}")
            if copy:
                shutil.copyfile(path, aside)
                os.truncate(path, 0)
            else:
                path.rename(aside)
            self.in_other_files[stream] = len(self.lines[stream])

    def close(self) -> None:
        """Write no more, but for lines so much later that all before them is complete."""
        self._closed.set()
        self.join()
        self._instant += _CLOSING_TIME
        for stream in self.lines:
            self._write(stream, [self._line(stream, self._instant)])

    def _tick(self) -> None:
        self._instant += 1
        for stream in self.lines:
            count = self._rng.randrange(_MOST_LINES)
            self._write(stream, [self._some_line(stream) for _ in range(count)])

    def _some_line(self, stream: str) -> str:
        if self._rng.random() < 0.01:
            return self._rng.choice(["no json\n", '{"id": "a"}\n', "[]\n", '{"id": 1, "ts": 1.5}\n'])
        return self._line(stream, self._instant - (self._rng.randrange(6) if stream == "g" else 0))

    def _line(self, stream: str, instant: int) -> str:
        self._next_id += 1
        record = {"id": self._next_id, "k": self._rng.randrange(_KEYS), "v": self._rng.randrange(100)}
        self.written[stream][self._next_id] = time.monotonic()
        return json.dumps({**record, "ts": max(instant, 0)}) + "\n"

    def _write(self, stream: str, lines: list[str]) -> None:
        self.lines[stream] += lines
        text = "".join(lines)
        torn = self._rng.randrange(len(text)) if text and self._rng.random() < 0.1 else 0
        for piece in (text[:torn], text[torn:]):
            with self.path(stream).open("a") as file:
                file.write(piece)
            if torn:
                time.sleep(0.02)

    def answers(self, folder: Path) -> Answers:
        """What the queries must report, computed from the lines alone."""
        folder.mkdir()
        for stream, lines in self.lines.items():
            (folder / f"{stream}.jsonl").write_text("".join(lines))
        return Answers(STREAMS + QUERIES, folder)


def wrong_answers(answers: Answers, records: Mapping[str, Records], rng: Random) -> list[str]:
    """One line for each query whose records are not those of the reference."""
    instants = [at for at in answers.instants() if at < answers.final - _CLOSING_TIME]
    looked_at = [*rng.sample(instants, min(_LOOKED_AT, len(instants))), answers.final - _CLOSING_TIME / 2]
    return [
        f"{query}: {len(missing)} missing {missing[:3]}, {len(extra)} too much {extra[:3]}"
        for query in answers.script.queries
        for missing, extra in _differences(answers, query, records[query], looked_at)
        if missing or extra
    ]


def _differences(
    answers: Answers, query: str, records: Records, looked_at: list[float]
) -> Iterator[tuple[list[Any], list[Any]]]:
    if not answers.is_changelog(query):
        yield difference(answers.records(query), map(short, records))
        return
    yield [], list(filter(None, [first_early_minus(records)]))
    for at in looked_at:
        until = [record for record in records if start_of(record) <= at]
        yield difference(answers.net(query, at), net_of(until))
