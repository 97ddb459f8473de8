"""Which records of a topic are let in, and how far its clock is: the rules, once more, record by record.

The reference shares nothing with the engine but the words: partition, largest, `idle`, `ahead`. Micro-batches
are cut at random, and a task has one partition or several.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.paced_rig import NOON, PacedRig, Task, records_of_topic
from tests.support.seeds import seeds
from tests.support.stateful_script import sorted_records

SECOND = 1_000_000
LATENESS, IDLE = 3 * SECOND, 30 * SECOND
TEN_YEARS = 3_652 * 86_400 * SECOND
AHEAD = {"": TEN_YEARS, "ahead = INTERVAL '60' SECOND": 60 * SECOND, "ahead = 'none'": 10**30}
YEAR_9999 = 253_370_764_800 * SECOND
NEVER = -(2**63)  # the watermark before any record
SCRIPT = """\
CREATE STREAM bid (item BIGINT, ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL '1' DAY
  LATENESS INTERVAL '3' SECOND
  USING kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'nowhere:1') {options};
CREATE QUERY every AS SELECT item FROM bid;
"""


@dataclass(frozen=True)
class Sent:
    """A record: its partition, its number, its event time and when it came, in microseconds."""

    partition: int
    item: int
    time: int
    came: int


@dataclass
class Largest:
    """The rules of a stream whose clock is the largest, as the language page tells them."""

    ahead: int
    clock: int = NEVER

    def take(self, batch: list[Sent], wall: int) -> set[int]:
        """Judge a micro-batch that is done at this wall clock; the items that are let in."""
        accepted = [
            one for one in batch if one.time <= one.came + self.ahead and one.time >= self.clock - LATENESS
        ]
        self.clock = max([self.clock, *(one.time for one in accepted)])
        return {one.item for one in accepted}

    def look(self, wall: int) -> None:
        """Nobody is waited for."""


@dataclass
class ByPartition:
    """The rules of a topic, as the language page tells them, record by record."""

    ahead: int
    clock: int = NEVER
    marks: dict[int, int] = field(default_factory=dict)  # what each partition is judged by
    heard: dict[int, int] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    sent: set[int] = field(default_factory=set)

    def take(self, batch: list[Sent], wall: int) -> set[int]:
        """Judge a micro-batch that is done at this wall clock; the items that are let in."""
        before, accepted = self.clock, set()
        for one in batch:
            if one.partition not in self.marks:  # it is new
                self.marks[one.partition], self.heard[one.partition] = before, wall
            if one.partition in self.left_out:
                self.marks[one.partition] = max(self.marks[one.partition], before)
            if one.time > one.came + self.ahead or one.time < self.marks[one.partition] - LATENESS:
                continue
            accepted.add(one.item)
            self.marks[one.partition] = max(self.marks[one.partition], one.time)
            self.heard[one.partition] = wall
            self.left_out.discard(one.partition)
            self.sent.add(one.partition)
        self._advance()
        self.look(wall)
        return accepted

    def look(self, wall: int) -> None:
        """Leave out the partitions that have been silent for too long."""
        self.left_out |= {place for place, heard in self.heard.items() if wall - heard >= IDLE}
        self._advance()

    def _advance(self) -> None:
        waited_for = [mark for place, mark in self.marks.items() if place not in self.left_out]
        all_ = [mark for place, mark in self.marks.items() if place in self.sent]
        self.clock = max(self.clock, min(waited_for) if waited_for else max(all_, default=NEVER))


def _topic(rng: random.Random) -> list[tuple[int, list[Sent]]]:
    """Micro-batches, each with the wall clock at its end; partitions lag, fall silent and come back."""
    batches, wall, item = [], NOON, 0
    lag = [0, rng.randrange(5) * SECOND, rng.randrange(9) * SECOND]
    for _ in range(10):
        wall += rng.choice([0, 1, 4, 20, 45]) * SECOND
        sent = []
        for partition in range(3):
            for _ in range(rng.choice([0, 0, 1, 3, 6])):
                time = wall - lag[partition] - rng.randrange(5) * SECOND
                time = rng.choice([YEAR_9999, time + 59 * SECOND, time + 70 * SECOND] + [time] * 30)
                sent.append(Sent(partition, item, time, wall))
                item += 1
        batches.append((wall, sent))
    return batches


def _record(one: Sent) -> bytes:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=one.time)
    return json.dumps({"item": one.item, "ts": time.isoformat().replace("+00:00", "Z")}).encode()


def _tasks(rng: random.Random, sent: list[Sent]) -> list[Task]:
    """The records of each partition in their order; tasks have whole partitions, and come in any order."""
    parts = [[one for one in sent if one.partition == partition] for partition in range(3)]
    batches = []
    for part in [part for part in parts if part]:
        records, times = [_record(one) for one in part], [one.came for one in part]
        batches.append(records_of_topic(records, part[0].partition, part[0].item, times))
    rng.shuffle(batches)
    if len(batches) > 1 and rng.random() < 0.5:
        batches[:2] = [pa.concat_batches(batches[:2])]
    return [("bid", batch) for batch in batches]


@seeds(8)
def test_clocks_and_verdicts_are_those_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    by_partition, ahead = seed % 2 == 1, list(AHEAD)[seed // 2 % 3]
    options = [ahead] if ahead else []
    options += [] if by_partition else ["clock = 'largest'"]
    rig = _rig(tmp_path, monkeypatch, options, follow=True)
    rules = (ByPartition if by_partition else Largest)(AHEAD[ahead])
    accepted, refused = set[int](), set[int]()
    for wall, sent in _topic(rng):
        rig.set_wall(wall / SECOND)
        if rig.opened.driver._feed():  # somebody has been silent for too long, and that moves the clock
            rig.batch([])
            rules.look(wall)
        rig.batch(_tasks(rng, sent))
        let_in = rules.take(sent, wall)
        accepted |= let_in
        refused |= {one.item for one in sent} - let_in
        if rng.random() < 0.3:
            rig.reopen()
            rig.set_wall(wall / SECOND)
        clock = rules.clock
        assert rig.watermarks.get("bid", NEVER) == (NEVER if clock == NEVER else clock - LATENESS)
    rig.opened.close()
    assert {record["row"]["item"] for record in rig.records()} == accepted
    assert {json.loads(letter["record"])["item"] for letter in rig.letters()} == refused
    assert len(accepted) > 3


def _rig(folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], **more: object) -> PacedRig:
    folder.mkdir(exist_ok=True)
    script = folder / "topic.sql"
    script.write_text(SCRIPT.format(options=f"WITH ({', '.join(options)})" if options else ""))
    return PacedRig(script, folder, monkeypatch, **more)


@seeds(12)
def test_any_cut_of_a_topic_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Where no partition goes idle or is added; what was promised of an item keeps to one partition."""
    rng = random.Random(seed)
    clock = rng.choice(["", "clock = 'device'"])
    unique = rng.choice(["", "UNIQUE (item) LIFESPAN 9"])
    options = [*filter(None, [clock, "key = 'item'" if unique else ""])]
    topic = [[_line(rng, partition) for _ in range(rng.randrange(30))] for partition in range(3)]
    outputs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        script = folder / "cut.sql"
        script.write_text(
            CUT.format(unique=unique, options=f"WITH ({', '.join(options)})" if options else "")
        )
        rig = PacedRig(script, folder, monkeypatch)
        rig.name("bid", 0, 1, 2)
        left, batches = [0, 0, 0], []
        while any(len(lines) > at for lines, at in zip(topic, left, strict=True)):
            tasks: list[Task] = []
            for partition, lines in enumerate(topic):
                part = lines[left[partition] :][: rng.choice([0, 1, 2, 7, 30])]
                if part:
                    tasks.append(("bid", records_of_topic(part, partition, left[partition])))
                left[partition] += len(part)
            if tasks:
                batches.append(tasks)
        rig.run(batches)
        # of two reasons the first counts, and a promise that has lapsed by then is no reason any more
        places = sorted((letter["partition"], letter["offset"]) for letter in rig.letters())
        outputs.append((sorted_records(rig.records()), places))
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0][0]


CUT = """\
CREATE STREAM bid (item BIGINT, device STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 2
  {unique} PUNCTUATED ON (item, device)
  USING kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'nowhere:1') {options};
CREATE QUERY every AS SELECT item, ts FROM bid;
CREATE QUERY pairs AS SELECT a.item AS item, a.ts AS one, b.ts AS other FROM bid a JOIN bid b
  ON a.item = b.item AND a.ts < b.ts;
CREATE QUERY counts WITH (emit = 'final') AS
  SELECT window(ts, 5) AS w, COUNT(*) AS n FROM bid GROUP BY window(ts, 5);
"""


def _line(rng: random.Random, partition: int) -> bytes:
    """A tuple, or a promise of an item that no other partition has."""
    item, time = partition * 100 + rng.randrange(4), partition + rng.randrange(40)
    if rng.random() < 0.1:
        return json.dumps({"@punctuate": {"item": item, "device": rng.choice("xy")}, "ts": time}).encode()
    return json.dumps({"item": item, "device": rng.choice("xy"), "ts": time}).encode()
