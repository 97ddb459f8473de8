"""Lines from the future are dead letters and move no clock."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from seine.algebra.definitions import Scheme, Source, StreamDef
from seine.algebra.types import BIGINT, TIMESTAMP, Field
from seine.intake.future_lines import ahead_of_clock
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.rows.delta import NEVER
from seine.storage.local import LocalStore
from tests.support.seeds import seed_range

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z


def admitted(
    folder: Path, lines: list[str], option: str | None, rows: int = 100
) -> tuple[list[int], list[int]]:
    """The lines that are let in and those that are dead, by number."""
    kind = TIMESTAMP if '"ts": "' in lines[0] else BIGINT
    (folder / "s").write_text("".join(f'{{"n": {n}, {line}}}\n' for n, line in enumerate(lines, 1)))
    options = () if option is None else (("ahead", option),)
    stream = StreamDef(
        "s", (Field("n", BIGINT), Field("ts", kind)), 1, Source(str(folder / "s"), options=options)
    )
    good: list[int] = []
    dead: list[int] = []
    while True:  # each entry by another process
        intake = Intake([stream], Journal(LocalStore(str(folder / "j"))), batch_rows=rows, wall=lambda: NOW)
        entry = intake.next_entry()
        if entry is None:
            return good, dead
        batch = entry.batch("s")
        good += batch.column("c0").to_pylist() if batch is not None else []
        dead += [letter["line"] for letter in entry.dead_letters()]


TIMES = ["2020-01-01", "9999-12-31", "2023-11-14T22:13:00Z", "2023-11-15T22:13:20Z", "2023-11-15T22:13:21Z"]


@pytest.mark.parametrize(
    ("option", "dead"), [(None, [2]), ("none", [3, 4, 5]), ("0", [2, 4, 5]), (str(10**18), [3, 4, 5])]
)
def test_timestamps_ahead_of_the_wall_clock(tmp_path: Path, option: str | None, dead: list[int]) -> None:
    """A record of 9999 that is let in makes all that follow late."""
    lines = [f'"ts": "{time}"' for time in TIMES]
    good = [n for n in range(1, 6) if n not in dead]
    assert admitted(tmp_path, lines, option) == (good, dead)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_plain_units_ahead_of_the_stream(tmp_path: Path, rows: int) -> None:
    lines = [f'"ts": {time}' for time in (5, 900, 8, 18, 29, 28, 1000)]
    assert admitted(tmp_path, lines, "10", rows) == ([1, 3, 4, 6], [2, 5, 7])


def test_plain_units_have_no_bound_unless_it_is_given(tmp_path: Path) -> None:
    assert admitted(tmp_path, ['"ts": 1', '"ts": 99999999999'], None) == ([1, 2], [])


def test_a_line_of_the_future_stops_nobody(tmp_path: Path) -> None:
    """It would be beyond the horizon of the streams that it is joined with for ever."""
    streams = []
    for name, times in (("s", [1, 10**6, 2, 3]), ("t", list(range(1, 9)))):
        (tmp_path / name).write_text("".join(f'{{"ts": {time}}}\n' for time in times))
        source = Source(str(tmp_path / name), options=(("ahead", "5"),))
        streams.append(StreamDef(name, (Field("ts", BIGINT),), 0, source))
    intake = Intake(streams, Journal(LocalStore(str(tmp_path / "j"))), batch_rows=4, follow=True)
    entry = intake.next_entry()
    assert entry is not None and entry.rows == {"s": 3, "t": 3} and entry.dead == 1


def test_a_punctuation_of_the_future_is_dead(tmp_path: Path) -> None:
    texts = ['{"ts": 1}', '{"@punctuate": {"ts": 5}, "ts": 99}', '{"@punctuate": {"ts": 6}, "ts": 9}']
    (tmp_path / "s").write_text("\n".join(texts))
    source = Source(str(tmp_path / "s"), options=(("ahead", "10"),))
    stream = StreamDef("s", (Field("ts", BIGINT),), 0, source, schemes=(Scheme((0,)),))
    entry = Intake([stream], Journal(LocalStore(str(tmp_path / "j")))).next_entry()
    assert entry is not None and entry.punctuation_counts == {"s": 1}
    assert [letter["line"] for letter in entry.dead_letters()] == [2]


def test_one_by_one() -> None:
    seen = 0
    for seed in seed_range(300):
        rng = random.Random(seed)
        times = [rng.choice([i, i + rng.randrange(30)]) for i in range(40)]
        clock, expected = rng.choice([NEVER, 3]), []
        latest = clock
        for time in times:
            expected.append(latest != NEVER and time > latest + 12)
            latest = latest if expected[-1] else max(latest, time)
        seen += any(expected)
        assert ahead_of_clock(np.array(times), clock, 12).tolist() == expected
    assert seen > 50
