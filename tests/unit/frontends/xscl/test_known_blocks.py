"""Queries put together from known blocks are what the parser reads, and errors are the parser's."""

from __future__ import annotations

from random import Random

import pytest

from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText
from seine.frontends.xscl import known_blocks
from seine.frontends.xscl.known_blocks import KnownBlocks
from seine.frontends.xscl.parse_xscl import parse_xscl
from tests.support.front_end import parse
from tests.support.seeds import seed_range

STREAMS = parse(
    """CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
    CREATE STREAM t (doc XML, tm TIMESTAMP) TIMESTAMP BY tm FROM 't.jsonl';"""
).declarations.streams
LEFT = ["s//a->x", "s/a->x[b->z]", "S//a[e = 'it']->x[b->z]", "SELECT * FROM s//a->x", "t//a->x"]
RIGHT = ["s//c->y", "S//c->y[./d->w]", "s//c->y'", "t//b->y", "s//JOIN->y"]
ODD = ["q//a->x", "SELECT x FROM s//a->x", "s//a->x PUBLISH p", "s//a->", "s//FOLLOWED->x", "s", '"s"//a->x']
CONDITIONS = ["x=y", "y = x", "x=y AND z=w", "x=y and x = y", "x=y'"]
ODD_CONDITIONS = ["x/b=y", "x=x", "x=q", "x<y", "and=y", "", "x=y, x=y", "x=y AND"]
TIMES = ["5", "0", "INF", "inf", " 7 "]
ODD_TIMES = ["-1", "1.5", "INTERVAL '1' DAY", "9" * 30, "", "²"]


def outcome(read, *arguments) -> object:
    try:
        return read(*arguments)
    except ScriptError as error:
        return error.render()


def random_text(random: Random) -> str:
    def one(usual: list[str], odd: list[str]) -> str:
        return random.choice(usual if random.random() < 0.85 else odd)

    operator = random.choice(["JOIN", "join ", "FOLLOWED BY", "followed\n by"])
    condition = f"{one(CONDITIONS, ODD_CONDITIONS)}, {one(TIMES, ODD_TIMES)}"
    return f" {one(LEFT, ODD)} {operator}{{{condition}}} {one(RIGHT, ODD)} "


def test_as_the_parser_reads_it():
    blocks, read = KnownBlocks(STREAMS), 0
    for seed in seed_range(3_000):
        text = random_text(Random(seed))
        expected = outcome(parse_xscl, ScriptText(text, "q"), 0, len(text), STREAMS)
        assert outcome(blocks.query, ScriptText(text, "q"), 0, len(text)) == expected, text
        read += not isinstance(expected, str)
    assert read > 300


def test_blocks_are_read_once_and_shared(monkeypatch):
    texts: list[str] = []

    def counted(source, start, end, streams):
        texts.append(source.text[start:end])
        return parse_xscl(source, start, end, streams)

    monkeypatch.setattr(known_blocks, "parse_xscl", counted)
    blocks = KnownBlocks(STREAMS)
    queries = []
    for time in range(50):
        text = f"s//a->x FOLLOWED BY{{x = y, {time}}} s//b->y"
        queries.append(blocks.query(ScriptText(text, "q"), 0, len(text)))
    assert texts == ["s//a->x", "s//b->y"]
    assert len({id(block) for query in queries for block in query.blocks}) == 2
    assert [query.input.within for query in queries] == list(range(50))
    monkeypatch.setattr(known_blocks, "MOST_BLOCKS_KNOWN", 2)
    text = "s//a->x JOIN{x = y, 1} s//c->y"
    source = ScriptText(text, "q")
    assert blocks.query(source, 0, len(text)) == parse_xscl(source, 0, len(text), STREAMS)
    assert len(blocks._blocks) <= 2


LONG = [
    "s//a" + " " * 50_000 + "JOIN",
    "s" + "//a JOIN" * 5_000,
    "{" * 50_000,
    "s//a JOIN{" + "x=y AND " * 9_000,
]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_refused_at_once(text):
    with pytest.raises(ScriptError):
        KnownBlocks(STREAMS).query(ScriptText(text, "q"), 0, len(text))
