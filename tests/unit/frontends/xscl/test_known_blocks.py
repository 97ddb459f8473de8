"""Queries that are put together from known blocks have the plans that the parser makes of them."""

from __future__ import annotations

import random

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.document_plan import DocumentQuery
from seine.algebra.types import BIGINT, TIMESTAMP, XML, Field
from seine.errors import ScriptError
from seine.frontends.text.source_text import ScriptText
from seine.frontends.xscl import parse_xscl as parser
from seine.frontends.xscl.known_blocks import KnownBlocks
from tests.generators.documents import QueryMaker
from tests.support.seeds import seed_range


def stream(name: str, calendar: bool = False) -> StreamDef:
    fields = (Field("doc", XML), Field("ts", TIMESTAMP if calendar else BIGINT))
    return StreamDef(name, fields, 1, Source(f"{name}.jsonl"))


STREAMS = {"s": stream("s"), "r": stream("r"), "c": stream("c", calendar=True)}


def parsed(text: str) -> DocumentQuery:
    return parser.parse_xscl(ScriptText(text, "test"), 0, len(text), STREAMS)


def test_known_blocks_give_the_same_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    known = 0
    for seed in seed_range(200):
        text = QueryMaker(random.Random(seed), ["s", "r"]).query(2)
        blocks = KnownBlocks()
        monkeypatch.setattr(parser, "_known_blocks", blocks)
        first = parsed(text)
        again = blocks.query(text, STREAMS)
        assert again is None or again == first, text
        assert parsed(text) == first
        known += again is not None
    assert known > 50


@pytest.mark.parametrize(
    "text",
    [
        "s//a->x JOIN{x = y, 5} s//b->z",
        "s//a->x JOIN{x = x, 5} s//b->y",
        "s//a->x JOIN{x = y, -5} s//b->y",
        "s//a->x JOIN{x = y OR x = y, 5} s//b->y",
        "s//a->x JOIN{x < y, 5} s//b->y",
        "s//a->x JOIN{x = y} s//b->y",
        "s//a->x JOIN{x = y, 5} c//b->y",
        "s//a->x JOIN{x = y, 9999999999999999999} s//b->y",
        "c//a->x JOIN{x = y, 5} c//b->y",
        "s//a->x JOIN{x = y, 5} s//b->y JOIN{x = y, 5} s//b->y",
        "s//a->x JOIN{x = x', 5} s//a->x",
    ],
)
def test_what_is_wrong_is_left_to_the_parser(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = KnownBlocks()
    monkeypatch.setattr(parser, "_known_blocks", blocks)
    for good in ("s//a->x JOIN{x = y, 5} s//b->y", "s//a->w JOIN{w = z, 5} s//b->z"):
        parsed(good)
    parsed("c//a->x JOIN{x = y, INF} c//b->y")
    assert blocks.query(text, STREAMS) is None
    with pytest.raises(ScriptError):
        parsed(text)


def test_a_block_is_known_for_the_stream_it_was_read_for(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = KnownBlocks()
    monkeypatch.setattr(parser, "_known_blocks", blocks)
    text = "s//a->x JOIN{x = y, 5} s//b->y"
    parsed(text)
    assert blocks.query(text, STREAMS) == parsed(text)
    assert blocks.query(text, {"s": stream("s")}) is None
