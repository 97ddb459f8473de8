"""Text columns as typed ones: what is written alike is read as what is not."""

from __future__ import annotations

import random

import pyarrow as pa

from seine.algebra.types import TIMESTAMP
from seine.intake.text_values import read_text
from tests.support.seeds import seeds

FORMS = [
    "2026-07-14T23:59:40.000Z",
    "2026-07-14T23:59:40Z",
    "2026-07-14T23:59:40.123456",
    "2026-07-14T23:59:40",
    "2026-07-14T23:59:40.",
    "0001-01-01T00:00:00Z",
    "0000-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999Z",
    "2026-07-14 23:59:40.1",
    "2024-02-29T01:02:03.1234567Z",
    "2026-07-14T23:59:40.1+01:00",
]
OTHER_WIDTH = "2024-01-01"  # beside it nothing is written alike


@seeds(3)
def test_timestamps_of_one_width_are_read_as_those_of_many(seed: int) -> None:
    chance = random.Random(seed)
    read = 0
    for _ in range(2_000):
        form = chance.choice(FORMS)
        texts = [_disturbed(form, chance) for _ in range(chance.randint(1, 3))]
        values, bad = read_text(pa.array(["", *texts]).slice(1), TIMESTAMP)
        expected, expected_bad = read_text(pa.array([*texts, OTHER_WIDTH]), TIMESTAMP)
        assert values.equals(expected.slice(0, len(texts))), texts
        assert bad.tolist() == expected_bad.tolist()[:-1], texts
        read += len(values) - values.null_count
    assert read


def _disturbed(text: str, chance: random.Random) -> str:
    """A text of the same length, mostly of a similar form."""
    letters = list(text)
    for _ in range(chance.choice([0, 0, 1, 2])):
        letters[chance.randrange(len(letters))] = chance.choice("0123456789-:.TZ+ é")
    return "".join(letters)
