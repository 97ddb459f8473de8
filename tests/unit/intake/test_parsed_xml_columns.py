"""XML columns: sound documents pass, the others are dead letters that move no clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, XML, Field
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.storage.local import LocalStore

BAD = [
    "",
    "text",
    "<a>",
    "<a/><b/>",
    "<a>&nbsp;</a>",
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    '<!DOCTYPE a [<!ENTITY x "y">]><a b="&x;"/>',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    '<!DOCTYPE a [<!ENTITY p "&q;"><!ENTITY q "&p;">]><a>&p;</a>',
    '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a>&x;</a>',
]
GOOD = ["<a/>", "<a>&amp;&#65;</a>", "<!DOCTYPE a><a/>", '<?xml version="1.0" encoding="latin-1"?><a>é</a>']


@pytest.mark.parametrize(
    ("text", "is_sound"), [*((one, False) for one in BAD), *((one, True) for one in GOOD)]
)
def test_a_faulty_document_is_a_dead_letter_with_the_reason(
    tmp_path: Path, text: str, is_sound: bool
) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps({"doc": text, "ts": 1}))
    stream = StreamDef("s", (Field("doc", XML), Field("ts", BIGINT)), 1, Source(str(tmp_path / "s.jsonl")))
    entry = Intake([stream], Journal(LocalStore(str(tmp_path / "j")))).next_entry()
    assert entry is not None and entry.rows.get("s", 0) == is_sound
    assert all(letter["reason"].startswith("column doc: ") for letter in entry.dead_letters())


def test_a_dead_document_moves_no_clock(tmp_path: Path) -> None:
    lines = [{"doc": BAD[2], "ts": 90}, {"doc": GOOD[0], "ts": 1}, {"ts": 2}]
    (tmp_path / "s.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    stream = StreamDef("s", (Field("doc", XML), Field("ts", BIGINT)), 1, Source(str(tmp_path / "s.jsonl")))
    entry = Intake([stream], Journal(LocalStore(str(tmp_path / "j")))).next_entry()
    assert entry is not None and entry.rows == {"s": 2}
    assert [letter["line"] for letter in entry.dead_letters()] == [1]
