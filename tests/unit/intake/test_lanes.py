"""Lateness by partition, against the rule told record by record."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from seine.intake import lanes
from seine.intake.lanes import Lane, Partition, judge_lanes, stream_clock, with_named
from seine.rows.delta import NEVER
from tests.support.seeds import seeds

IDLE = 3  # cuts


class Sent(NamedTuple):
    """A record of a topic: its time and its clock value."""

    time: int
    value: str


Topic = list[list[Sent]]
Cut = dict[int, int]  # how many records of each partition a micro-batch has


def some_topic(rng: random.Random) -> Topic:
    """Partitions that begin at different times and whose records are in little order."""
    topic = []
    for _ in range(rng.randrange(1, 5)):
        time, records = rng.randrange(40), []
        for _ in range(rng.randrange(26)):
            time += rng.randrange(5)
            late = rng.choice([0, 0, 0, 1, 3, 8, 20])
            records.append(Sent(max(0, time - late), rng.choice("abcde"[: rng.choice([1, 3, 5])])))
        topic.append(records)
    return topic


def some_cutting(rng: random.Random, topic: Topic) -> list[Cut]:
    """All records of a topic, a few of some partitions at a time."""
    left, cuts = [len(records) for records in topic], []
    while any(left):
        waiting = [place for place, count in enumerate(left) if count]
        chosen = rng.sample(waiting, rng.randrange(1, len(waiting) + 1))
        cut = {place: min(left[place], rng.choice([1, 2, 5, 30])) for place in chosen}
        for place, count in cut.items():
            left[place] -= count
        cuts.append(cut)
    return cuts


@dataclass
class Rule:
    """The rule for one partition, record by record."""

    floor: int = NEVER
    lanes: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    @property
    def clock(self) -> int:
        active = [clock for value, clock in self.lanes.items() if value not in self.silent]
        return max([self.floor, min(active)] if active else [self.floor])

    def let_in(self, record: Sent, lateness: int) -> bool:
        mark = self.lanes.get(record.value, NEVER)
        if record.value not in self.lanes or record.value in self.silent:
            mark = max(mark, self.clock)
        if mark != NEVER and record.time < mark - lateness:
            return False
        self.lanes[record.value] = max(mark, record.time)
        self.silent.discard(record.value)
        return True


class Reader:
    """Reads a topic cut by cut with the code under test; partitions are those that are `known` by then."""

    def __init__(self, topic: Topic, lateness: int) -> None:
        self.topic, self.lateness = topic, lateness
        self.partitions: dict[str, Partition] = {}
        self.clock, self.at = NEVER, [0] * len(topic)
        self.let_in: set[tuple[int, int]] = set()

    def read(self, cut: Mapping[int, int], known: Sequence[int], wall: int = 0) -> None:
        self.partitions = with_named(self.partitions, [f"t/{one}" for one in known], self.clock, wall)
        for place, count in cut.items():
            start = self.at[place]
            records = self.topic[place][start : start + count]
            values = sorted({record.value for record in records})
            codes = np.array([values.index(record.value) for record in records], np.int64)
            times = np.array([record.time for record in records], np.int64)
            begun = self.partitions[f"t/{place}"].begun(self.clock)
            verdict = judge_lanes(begun, values, codes, times, self.lateness)
            behind = times[~verdict.late] < self.clock - self.lateness
            assert not behind.any() or self.clock == NEVER, "let in behind a clock of before"
            self.let_in |= {(place, start + at) for at in np.flatnonzero(~verdict.late).tolist()}
            if verdict.clocks:
                self.partitions[f"t/{place}"] = begun.after(verdict.clocks, {}, wall)
            self.at[place] += count
        before, self.clock = self.clock, stream_clock(self.partitions, self.clock)
        assert self.clock >= before


@seeds(60)
def test_any_cutting_lets_in_what_the_rule_lets_in(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        topic, lateness = some_topic(rng), rng.choice([0, 2, 6])
        expected = set()
        for place, records in enumerate(topic):
            rule = Rule()
            expected |= {(place, at) for at, record in enumerate(records) if rule.let_in(record, lateness)}
        clocks = set()
        for _ in range(6):
            reader = Reader(topic, lateness)
            for cut in some_cutting(rng, topic):
                reader.read(cut, range(len(topic)))
            assert reader.let_in == expected
            clocks.add(reader.clock)
        assert len(clocks) == 1


@seeds(60)
def test_a_partition_that_is_added_changes_nothing_for_the_others(seed: int) -> None:
    rng = random.Random(seed)
    topic, lateness = some_topic(rng), rng.choice([0, 2, 6])
    added = len(topic) - 1
    reader, rules = Reader(topic, lateness), [Rule() for _ in topic[:-1]]
    known = set(range(added))
    for cut in some_cutting(rng, topic):
        known |= {*cut}
        reader.read(cut, sorted(known))
    expected = {
        (place, at)
        for place, rule in enumerate(rules)
        for at, record in enumerate(topic[place])
        if rule.let_in(record, lateness)
    }
    assert {place for place in reader.let_in if place[0] != added} == expected


@seeds(60)
def test_silence_is_what_was_noted(seed: int) -> None:
    """Which lanes are silent is noted between micro-batches; what follows is told record by record."""
    rng = random.Random(seed)
    topic, lateness = some_topic(rng), rng.choice([0, 2])
    reader, rules = Reader(topic, lateness), [Rule() for _ in topic]
    expected = set()
    for wall, cut in enumerate(some_cutting(rng, topic)):
        clock, at = reader.clock, [*reader.at]
        for place, count in cut.items():
            rule = rules[place]
            partition = reader.partitions.get(f"t/{place}", Partition())
            if set(rule.lanes) == rule.silent and (rule.lanes or partition.silent):
                rule.floor = max(rule.floor, clock)
            records = topic[place][at[place] : at[place] + count]
            expected |= {
                (place, at[place] + offset)
                for offset, record in enumerate(records)
                if rule.let_in(record, lateness)
            }
        reader.read(cut, range(len(topic)), wall)
        assert reader.let_in == expected
        reader.partitions = {name: one.left_out(wall, IDLE) for name, one in reader.partitions.items()}
        reader.clock = stream_clock(reader.partitions, reader.clock)
        for place, rule in enumerate(rules):
            lanes = reader.partitions[f"t/{place}"].lanes
            rule.silent = {value for value, lane in lanes.items() if lane.silent}


def test_lanes_that_follow_from_one_another() -> None:
    """Each new lane is in time only because of the one before it."""
    times = [0, 0, 10, 0, 10, 0, 10, 0]
    values = [*"abacbdce"]
    codes = np.array([ord(value) - ord("a") for value in values])
    verdict = judge_lanes(Partition(), [*"abcde"], codes, np.array(times), 0)
    rule = Rule()
    expected = [rule.let_in(Sent(*one), 0) for one in zip(times, values, strict=True)]
    assert (~verdict.late).tolist() == expected and verdict.clocks == rule.lanes


def test_a_dead_line_moves_no_clock() -> None:
    times = np.array([5, NEVER, 4, 9], np.int64)
    verdict = judge_lanes(Partition(), [""], np.zeros(4, np.int64), times, 0)
    assert verdict.late.tolist() == [False, False, True, False] and verdict.clocks == {"": 9}
    none = judge_lanes(Partition(), [""], np.zeros(1, np.int64), np.array([NEVER], np.int64), 0)
    assert none.clocks == {} and not none.late.any()


def test_a_partition_that_never_sent_holds_back_until_it_is_silent() -> None:
    partitions = with_named({}, ["t/0", "t/1"], NEVER, wall=100)
    partitions["t/0"] = partitions["t/0"].after({"": 9}, {}, wall=100)
    assert stream_clock(partitions, NEVER) == NEVER
    later = {name: one.left_out(129, 30) for name, one in partitions.items()}
    assert not later["t/1"].is_silent and stream_clock(later, NEVER) == NEVER
    partitions["t/0"] = partitions["t/0"].after({"": 12}, {}, wall=120)
    later = {name: one.left_out(130, 30) for name, one in partitions.items()}
    assert later["t/1"].is_silent and stream_clock(later, NEVER) == 12
    back = later["t/1"].begun(12)
    assert judge_lanes(back, [""], np.zeros(2, np.int64), np.array([11, 12]), 0).late.tolist() == [
        True,
        False,
    ]


@seeds(20)
def test_lines_one_after_the_other_are_judged_as_all_at_once(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, late_lines = random.Random(seed), 0
    for _ in range(20):
        known = {value: Lane(rng.randrange(20), 0, rng.random() < 0.4) for value in rng.sample("abcdef", 3)}
        partition = Partition(0, rng.choice([NEVER, 3, 8]), lanes=rng.choice([known, {}]))
        codes = np.array([rng.randrange(6) for _ in range(60)])
        times = np.array([rng.choice([NEVER, *range(40)]) for _ in codes])
        verdicts = []
        for most in (10_000, 0, 2):
            monkeypatch.setattr(lanes, "_MOST_LOOKS", most)
            late, clocks = judge_lanes(partition, "abcdef", codes, times, seed % 3 * 2)
            verdicts.append((late.tolist(), clocks))
        assert verdicts[0] == verdicts[1] == verdicts[2]
        late_lines += sum(verdicts[0][0])
    assert late_lines


def test_a_chain_of_lanes_takes_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane keeps the next one in time, and then moves on."""
    looks = []
    look = lanes._clock_before
    monkeypatch.setattr(lanes, "_clock_before", lambda *given: looks.append(1) or look(*given))
    count = 2_000
    codes = np.array([0, *(code for lane in range(1, count) for code in (lane, lane - 1))])
    times = np.array([0, *(time for _ in range(1, count) for time in (0, 1_000_000))])
    late, clocks = judge_lanes(Partition(), [str(lane) for lane in range(count)], codes, times, 0)
    assert not late.any() and len(clocks) == count
    assert len(looks) <= lanes._MOST_LOOKS
