"""What never parses is NULL in a CAST, and texts that parse are not refused: against the kernel."""

from __future__ import annotations

from random import Random

import pytest

from seine.algebra.expressions import Call, Literal
from seine.algebra.functions.casting import TRIMMED, never_parses
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type
from seine.evaluate.evaluate import evaluate

TYPES = (INT, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, Type(Kind.DECIMAL, 10, 2))
PLAIN = (
    *(
        "",
        " ",
        "x",
        "5",
        "+5",
        "-0",
        " 7 ",
        "1.5",
        "1.",
        ".5",
        "1e3",
        "1E-3",
        "2d",
        "2F",
        "1_000",
        "0x1F",
        "٣",
    ),
    *("nan", "NaN", "inf", "-Infinity", "+inf", "true", "F", "Yes", "no", "maybe", "tru"),
    *(
        "2024",
        "2024-1",
        "2024-05-01",
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "2000-02-29",
        "2024-13-01",
        "24-05-01",
    ),
    *("2024-05-01 ", "2024-05-01T", "2024-05-01 12:00", "2024-05-01T12:00:00.5Z", "2024-05-01 12", "noon"),
    *(
        "2024-05-01 12:00:00+02:00",
        "2024-05-01 12:00 Europe/Paris",
        "2024-05-01 x",
        "-2024-05-01",
        "12:00:00",
    ),
    *("9223372036854775807", "9" * 30, "0" * 5000, "5\n", "2024-05-01\n", "1e400"),
)
# of the form of a value, and none: which `never_parses` leaves to the rows
BEYOND = ("-2024-05-01", "9" * 30, "1e400", "9223372036854775807", "2024-05-01 99:00")


def _is_null(text: str, type_: Type) -> bool:
    return not evaluate(Call("cast", (Literal(text, STRING),), type_), [], 1)[0].is_valid


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_texts(type_: Type) -> None:
    for text in PLAIN:
        if never_parses(text, type_):
            assert _is_null(text, type_), text
        elif text not in BEYOND:
            assert not _is_null(text, type_), text


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_random_texts(type_: Type) -> None:
    """A text that never parses is NULL in a row; most texts that are NULL in a row never parse."""
    random, never, nulls = Random(1), 0, 0
    for _ in range(600):
        text = list(random.choice(PLAIN)[:25])
        for _ in range(random.randrange(3)):
            text[random.randrange(len(text) + 1) :][:1] = random.choice("0159-:. TZe+x" + TRIMMED[10])
            text.insert(random.randrange(len(text) + 1), random.choice("0159-:. TZe+x"))
        is_never, is_null = never_parses("".join(text), type_), _is_null("".join(text), type_)
        assert is_null or not is_never, "".join(text)
        never, nulls = never + is_never, nulls + is_null
    assert never > nulls * 0.9 > 100
