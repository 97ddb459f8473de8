"""Lines from the future: those whose event time is so far ahead of their arrival that it must be wrong.

One tuple of the year 9999 would move its stream's clock there, and all that follows would be late for ever.
With TIMESTAMP time a line is ahead if it is that much later than the wall clock at which it was read. Plain
units know no wall clock: there a tuple is compared with the largest timestamp that came before it in its
stream and was not itself ahead. A tuple with nothing before it is never ahead then.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.intake.admission_rules import ByPartition
from seine.intake.parsed import DeadLine, Parsed, ParsedLines
from seine.rows.delta import FOREVER, NEVER

_REASON = "its time is further ahead of its arrival than the option ahead allows"


def refuse_future(stream: StreamDef, parsed: Parsed, wall: int | IntArray, clock: int) -> Parsed:
    """Make dead letters of lines that are too far ahead.

    `wall` is the wall clock in microseconds, or that of each line by its number, from 1 on; `clock` is the
    largest timestamp before these lines.
    """
    if stream.ahead is None:
        return parsed
    if stream.domain == "timestamp":
        tuples = _ahead_of_wall(parsed.tuples, wall, stream.ahead)
        punctuations = _ahead_of_wall(parsed.punctuations, wall, stream.ahead)
    else:
        tuples = ahead_of_clock(parsed.tuples.time, clock, stream.ahead)
        passed = np.where(tuples, NEVER, parsed.tuples.time)
        clocks = np.maximum.accumulate(np.concatenate([[clock], passed]))
        before = clocks[np.searchsorted(parsed.tuples.numbers, parsed.punctuations.numbers)]
        punctuations = _beyond(parsed.punctuations.time, before, stream.ahead)
    return _without(parsed, tuples, punctuations)


def refuse_ahead_by_lane(stream: StreamDef, parsed: Parsed, rule: ByPartition) -> Parsed:
    """Make dead letters of lines that are too far ahead, in plain units, of those before them in their lane.

    A punctuation is compared with all lanes of its partition.
    """
    if stream.ahead is None:
        return parsed
    tuples = np.zeros(len(parsed.tuples), bool)
    punctuations = np.zeros(len(parsed.punctuations), bool)
    places = rule.partitions(parsed.tuples.numbers), rule.partitions(parsed.punctuations.numbers)
    codes, values = rule.values(parsed.tuples)
    for place in np.unique(np.concatenate(places)).tolist():
        lines, said = (np.flatnonzero(of == place) for of in places)
        reached, times = rule.reached_of(place), parsed.tuples.time[lines]
        latest = max(reached.values(), default=NEVER)
        for code in np.unique(codes[lines]).tolist():
            in_lane = codes[lines] == code
            ahead = ahead_of_clock(times[in_lane], reached.get(values[code], NEVER), stream.ahead)
            tuples[lines[in_lane]] = ahead
            passed = times[in_lane][~ahead]
            reached[values[code]] = int(max(reached.get(values[code], NEVER), passed.max(initial=NEVER)))
        clocks = np.maximum.accumulate(np.concatenate([[latest], np.where(tuples[lines], NEVER, times)]))
        numbers = parsed.tuples.numbers[lines], parsed.punctuations.numbers[said]
        before = clocks[np.searchsorted(*numbers)]
        punctuations[said] = _beyond(parsed.punctuations.time[said], before, stream.ahead)
    return _without(parsed, tuples, punctuations)


def _without(parsed: Parsed, tuples: BoolArray, punctuations: BoolArray) -> Parsed:
    """What was parsed, with lines by mask as dead letters."""
    if not tuples.any() and not punctuations.any():
        return parsed
    numbers = [*parsed.tuples.numbers[tuples].tolist(), *parsed.punctuations.numbers[punctuations].tolist()]
    dead = [DeadLine(number, _REASON, parsed.record(number)) for number in numbers]
    return replace(
        parsed,
        tuples=parsed.tuples.take(~tuples),
        punctuations=parsed.punctuations.take(~punctuations),
        dead=sorted(parsed.dead + dead),
    )


def _ahead_of_wall(lines: ParsedLines, wall: int | IntArray, ahead: int) -> BoolArray:
    if isinstance(wall, int):
        return np.asarray(lines.time > min(wall + ahead, FOREVER))
    arrived = wall[lines.numbers - 1]
    horizon = np.where(arrived > FOREVER - ahead, FOREVER, arrived + min(ahead, FOREVER))
    return np.asarray(lines.time > horizon)


def ahead_of_clock(times: IntArray, clock: int, ahead: int) -> BoolArray:
    """A mask of the times that are more than `ahead` beyond the largest one before that is not.

    >>> ahead_of_clock(np.array([5, 900, 8, 901, 14]), NEVER, 10).tolist()
    [False, True, False, True, False]
    """
    before = np.maximum.accumulate(np.concatenate([[clock], times]))[:-1]
    result = _beyond(times, before, ahead)
    if not result.any():
        return result
    first = int(result.argmax())
    latest = int(before[first])
    for place, time in enumerate(times[first:].tolist(), first):  # a refused time must not move the clock
        result[place] = latest != NEVER and time > latest + ahead
        latest = latest if result[place] else max(latest, time)
    return result


def _beyond(times: IntArray, before: IntArray, ahead: int) -> BoolArray:
    known = before != NEVER
    room = np.where(before > FOREVER - ahead, FOREVER, before + min(ahead, FOREVER))
    result: BoolArray = known & (times > room)
    return result
