"""Which records of a topic are let in, and how far its clock is: the rules, once more, record by record.

The reference shares nothing with the engine but the words: largest, `clock = 'partition'`, `idle`, `ahead`.
Micro-batches are cut at random, and the records of a partition are those of one task or of several.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.paced_rig import NOON, PacedRig, Task, records_of_topic
from tests.support.seeds import seeds

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
class Rules:
    """The rules of one stream, as the language page tells them."""

    by_partition: bool
    idle: bool
    ahead: int
    clock: int = NEVER
    largest: dict[int, int] = field(default_factory=dict)
    heard: dict[int, int] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)

    def take(self, batch: list[Sent], wall: int) -> set[int]:
        """Judge a micro-batch that is done at this wall clock; the items that are let in."""
        accepted = [one for one in batch if not self._is_ahead(one) and one.time >= self.clock - LATENESS]
        for one in accepted:
            value = one.partition if self.by_partition else 0
            self.largest[value] = max(self.largest.get(value, NEVER), one.time)
            self.heard[value] = wall
            self.left_out.discard(value)
        self._advance()
        self.look(wall)
        return {one.item for one in accepted}

    def _is_ahead(self, one: Sent) -> bool:
        return one.time > one.came + self.ahead

    def look(self, wall: int) -> None:
        """Leave out the partitions that have been silent for too long."""
        if self.idle and self.by_partition:
            self.left_out = {value for value, heard in self.heard.items() if wall - heard >= IDLE}
            self._advance()

    def _advance(self) -> None:
        waited_for = [time for value, time in self.largest.items() if value not in self.left_out]
        if self.largest:
            self.clock = max(self.clock, min(waited_for) if waited_for else max(self.largest.values()))


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
    """A partition's records in order, cut at random into tasks, which come in any order."""
    tasks = []
    for partition in range(3):
        records_of_it = [one for one in sent if one.partition == partition]
        cut = rng.randrange(len(records_of_it) + 1)
        for part in (records_of_it[:cut], records_of_it[cut:]):
            if part:
                records = [_record(one) for one in part]
                times = [one.came for one in part]
                tasks.append(("bid", records_of_topic(records, partition, part[0].item, times)))
    rng.shuffle(tasks)
    return tasks


@seeds(8)
def test_clocks_and_verdicts_are_those_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    by_partition, ahead = seed % 2 == 1, list(AHEAD)[seed // 2 % 3]
    idle = by_partition and rng.random() < 0.7
    options = [ahead] if ahead else []
    options += ["clock = 'partition'"] if by_partition else []
    options += ["idle = INTERVAL '30' SECOND"] if idle else []
    script = tmp_path / "topic.sql"
    script.write_text(SCRIPT.format(options=f"WITH ({', '.join(options)})" if options else ""))
    rig = PacedRig(script, tmp_path, monkeypatch, follow=True)
    rules, accepted, refused = Rules(by_partition, idle, AHEAD[ahead]), set[int](), set[int]()
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
        assert rig.watermarks.get("bid", NEVER) == (rules.clock - LATENESS if rules.largest else NEVER)
    rig.opened.close()
    assert {record["row"]["item"] for record in rig.records()} == accepted
    assert {json.loads(letter["record"])["item"] for letter in rig.letters()} == refused
    assert len(accepted) > 3
