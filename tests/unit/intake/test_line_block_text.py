"""Lines of a block as text, and lines with a mark, against the plain way to find them."""

from __future__ import annotations

import random

import numpy as np

from seine.intake.line_block import LineBlock, lines_with, lines_with_at, text_of
from tests.support.seeds import seeds

MARK = b'"@m"'


def random_line(rng: random.Random) -> bytes:
    size = rng.choice([0, 1, 5, 40, 40, 40, 2_000])
    line = bytes(rng.choice(b'ab"@m{ \r') for _ in range(size))
    if rng.random() < 0.4:
        at = rng.choice([0, 1, len(line)])
        line = line[:at] + MARK + line[at:]
    return line


@seeds(40)
def test_lines_and_marks_equal_the_plain_ones(seed: int) -> None:
    rng = random.Random(seed)
    lines = [random_line(rng) for _ in range(rng.choice([1, 3, 60, 2_000]))]
    lines[-1] += b"end"
    data = b"\n".join(lines) + rng.choice([b"", b"\n"])
    block = LineBlock("k", "f", data, 1, 0, b"")
    assert lines_with(block, MARK).tolist() == [i for i, line in enumerate(lines) if MARK in line]
    marked = [i for i in lines_with_at(block, 1, MARK).tolist() if len(lines[i]) >= 1 + len(MARK)]
    assert marked == [i for i, line in enumerate(lines) if line[1:].startswith(MARK)]
    for share in (0.0, 0.02, 0.5, 0.98, 1.0):
        chosen = np.flatnonzero([rng.random() < share for _ in lines])
        wanted = [lines[i].strip() for i in chosen if lines[i].strip()]
        text = bytes(text_of(block, chosen))
        assert [line.strip() for line in text.split(b"\n") if line.strip()] == wanted
        assert len(text) <= len(data)


def test_marks_in_a_block_that_is_too_short() -> None:
    block = LineBlock("k", "f", b'"@', 1, 0, b"")
    assert not len(lines_with(block, MARK)) and not len(lines_with_at(block, 1, MARK))
    empty = LineBlock("k", "f", b"", 1, 0, b"")
    assert not len(lines_with_at(empty, 1, MARK)) and text_of(empty, np.zeros(0, np.int64)) == b""
