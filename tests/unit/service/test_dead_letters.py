"""Dead letters page by page, backwards: none is left out, and none comes twice."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from seine.runtime.output.log_files import LogFiles, segment_path
from seine.service import dead_letters
from seine.service.dead_letters import latest_dead_letters
from tests.support.seeds import seeds


@seeds(8)
def test_pages_backwards_are_all_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(dead_letters, "_MOST_READ", rng.choice([1, 40, 200, 1 << 20]))
    letters = [
        {"stream": rng.choice(["s", "T"]), "reason": "late", "record": "x" * rng.randrange(60), "line": i}
        for i in range(rng.randrange(1, 40))
    ]
    lines = [json.dumps(letter).encode() + b"\n" for letter in letters]
    cut = rng.randrange(len(lines))
    first, path = 1000, str(tmp_path / "dead.jsonl")
    starts = (first, first + sum(map(len, lines[:cut]))) if cut else (first,)
    Path(segment_path(path, starts[0])).write_bytes(b"".join(lines[: cut or None]))
    if cut:
        Path(segment_path(path, starts[1])).write_bytes(b"".join(lines[cut:]))
    stream = rng.choice([None, "S", "t"])
    place, end, seen = first + sum(map(len, lines)), False, []
    while not end:
        page = latest_dead_letters(LogFiles(path, starts), place, stream, rng.randrange(1, 9))
        assert page["next"] < place
        seen += [letter["line"] for letter in page["letters"]]
        place, end = page["next"], not page["more"]
    wanted = [
        one["line"] for one in letters if stream is None or str(one["stream"]).lower() == stream.lower()
    ]
    assert seen == wanted[::-1]
