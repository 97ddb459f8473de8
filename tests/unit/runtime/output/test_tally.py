"""Counts of delivered records, against sums, through random crashes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from seine.errors import SeineError
from seine.runtime.output import tally
from seine.runtime.output.tally import Tally, TallyPlace
from tests.support.seeds import seeds


@seeds(8)
def test_what_is_settled_survives_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(tally, "_LEAST_BYTES", 200)
    rng, place = Random(seed), None
    kept: TallyPlace | None = None
    settled: Counter[str] = Counter()
    one = Tally(str(tmp_path), place)
    begun = set()
    for entry in range(120):
        now = Counter(one.counts)
        assert now == settled and one.importance == {name: 0.5 * count for name, count in now.items()}
        gone = rng.sample(sorted(now), rng.randint(0, min(2, len(now))))
        one.forget(gone)
        for name in gone:
            del now[name]
        more = Counter({f"q{rng.randint(0, 30)}": rng.randint(1, 9) for _ in range(rng.randint(0, 6))})
        one.add(more)
        one.weigh({name: 0.5 * count for name, count in more.items()})
        now += more
        place = one.settle(entry)
        begun.add(place and place.name)
        if rng.random() < 0.3:  # a crash before anybody noted the place
            one = Tally(str(tmp_path), kept)
            continue
        kept, settled = place, now
        one.tidy()
        if rng.random() < 0.2:
            one = Tally(str(tmp_path), kept)
    assert len(begun) > 3 and len(os.listdir(tmp_path)) <= 2


def test_a_log_that_is_too_short_is_refused(tmp_path: Path) -> None:
    one = Tally(str(tmp_path), None)
    one.add({"q": 1})
    place = one.settle(0)
    assert place is not None
    with pytest.raises(SeineError, match="damaged"):
        Tally(str(tmp_path), TallyPlace(place.name, place.bytes + 1))


@pytest.mark.parametrize(("name", "length"), [("../x.jsonl", 0), ("tally-0.jsonl", -1)])
def test_a_place_that_is_none_is_refused(tmp_path: Path, name: str, length: int) -> None:
    victim = tmp_path.parent / "x.jsonl"
    victim.write_text("precious")
    with pytest.raises(SeineError, match="damaged"):
        Tally(str(tmp_path), TallyPlace(name, length))
    assert victim.read_text() == "precious"
