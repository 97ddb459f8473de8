"""Strict JSON Lines: what is refused, and the fast way against the exact way."""

from __future__ import annotations

import json
import random
from decimal import Decimal

import numpy as np
import pytest

from seine.algebra.definitions import Scheme
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Field, Type
from seine.intake.json_line import JsonLine
from seine.intake.jsonl import JsonLines
from seine.intake.line_block import LINE_LIMIT, LineBlock, text_of
from seine.intake.parsed import Parsed
from seine.intake.record_layout import RecordLayout
from tests.support.seeds import seeds

LAYOUT = RecordLayout(
    (
        Field("i", BIGINT),
        Field("j", INT),
        Field("d", DOUBLE),
        Field("s", STRING),
        Field("b", BOOLEAN),
        Field("day", DATE),
        Field("at", TIMESTAMP),
        Field("m", Type.parse("DECIMAL(6,2)")),
        Field("ts", BIGINT),
    ),
    8,
    (Scheme((0,)), Scheme((3, 8), 10)),
)


def block(lines: list[bytes], first: int = 1) -> LineBlock:
    data = b"\n".join(lines)
    return LineBlock("k", "f.jsonl", data, first, 0, data[:1024])


def parse(*lines: bytes | str, layout: RecordLayout = LAYOUT) -> Parsed:
    return JsonLines(layout).parse(block([x.encode() if isinstance(x, str) else x for x in lines]))


REFUSED = [
    '{"s":1,"ts":1}',
    '{"i":"1","ts":1}',
    '{"i":1.5,"ts":1}',
    '{"i":1.0,"ts":1}',
    '{"i":1e3,"ts":1}',
    '{"i":9223372036854775808,"ts":1}',
    '{"i":%s,"ts":1}' % ("9" * 6000),
    '{"j":2147483648,"ts":1}',
    '{"d":"12.5","ts":1}',
    '{"d":1e999,"ts":1}',
    '{"d":NaN,"ts":1}',
    '{"d":-Infinity,"ts":1}',
    '{"d":"nan","ts":1}',
    '{"d":"inf","ts":1}',
    '{"d":"+Infinity","ts":1}',
    '{"d":" NaN","ts":1}',
    '{"m":"NaN","ts":1}',
    '{"i":"NaN","ts":1}',
    '{"d":true,"ts":1}',
    '{"b":1,"ts":1}',
    '{"b":"true","ts":1}',
    '{"i":1,"ts":1,}',
    '{"i":1,"i":1,"ts":1}',
    '{"i":null,"I":1,"ts":1}',
    '{"x":null,"ts":1}',
    '{"s":{"a":1},"ts":1}',
    '{"s":[],"ts":1}',
    "[1]",
    "1",
    "null",
    '"text"',
    '{"ts":1}{"ts":2}',
    '{"ts":1} null {"ts":2}',
    '{"ts":1} x',
    '{"i":',
    '1,"ts":1}',
    b'{"s":"\xff","ts":1}',
    b'{"s":"a\x00","ts":1}',
    '{"s":"\\ud800","ts":1}',
    '{"s":"\x01","ts":1}',
    '{"i":01,"ts":1}',
    "{'i':1,'ts':1}",
    '{"day":"2020-02-30","ts":1}',
    '{"day":20200101,"ts":1}',
    '{"day":"2020-1-1","ts":1}',
    '{"at":"2020-01-01T25:00:00","ts":1}',
    '{"at":5,"ts":1}',
    '{"at":"yesterday","ts":1}',
    '{"m":"1.5","ts":1}',
    '{"m":1.555,"ts":1}',
    '{"m":12345,"ts":1}',
    '{"m":1e999999999,"ts":1}',
    '{"i":1}',
    '{"i":1,"ts":null}',
    '{"ts":9223372036854775807}',
    '{{"s":{}{},"ts":1}}'.format("[" * 100_000, "]" * 100_000),
    '{"@op":"+","ts":1}',
    '{"@op":null,"ts":1}',
    '{"\\u0040op":null,"ts":1}',
    '{"@o\\u0070":null,"ts":1}',
    '{"@op":"-","@op":"-","ts":1}',
    '{"@punctuate":{"i":1}}',
    '{"@punctuate":{"j":1},"ts":1}',
    '{"@punctuate":{"i":1,"j":1},"ts":1}',
    '{"@punctuate":{"i":1.5},"ts":1}',
    '{"@punctuate":{},"ts":1}',
    '{"@punctuate":5,"ts":1}',
    '{"@punctuate":{"i":1},"ts":1,"j":5}',
    '{"@punctuate":{"i":1},"@op":"-","ts":1}',
]


@pytest.mark.parametrize("line", REFUSED, ids=range(len(REFUSED)))
def test_refused(line: bytes | str) -> None:
    good = '{"i":7,"ts":1}'
    parsed = parse(good, line, good)
    assert [dead.line for dead in parsed.dead] == [2]
    assert parsed.tuples.numbers.tolist() == [1, 3] and not len(parsed.punctuations)
    assert parsed.dead[0].reason and len(parsed.dead[0].record) <= 1000


def test_doubles_that_are_not_finite() -> None:
    """In the words of the output, alone or among other lines of a block."""
    lines = [f'{{"d":{word},"ts":1}}' for word in ('"NaN"', '"Infinity"', '"-Infinity"', "2.5", "null")]
    for before in (0, 300):
        parsed = parse(*['{"d":1.0,"ts":1}'] * before, *lines)
        assert not parsed.dead
        values = parsed.tuples.rows.column("c2").to_pylist()[before:]
        assert list(map(str, values)) == ["nan", "inf", "-inf", "2.5", "None"]


def test_accepted_values() -> None:
    parsed = parse(
        '{"I":-9223372036854775808,"d":3,"s":"\\ud83d\\ude00","b":true,"TS":5}',
        ' \t{"day":"2020-02-29","at":"2020-01-01T00:00:01+01:00","m":-1.10,"ts":6} \r',
        "   ",
        "",
        '{"at":"2020-01-01 00:00:00.25","m":9999.99,"ts":-7}',
    )
    assert not parsed.dead and parsed.tuples.numbers.tolist() == [1, 2, 5]
    rows = parsed.tuples.rows.to_pylist()
    assert (
        rows[0]["c0"] == -(2**63) and rows[0]["c2"] == 3.0 and rows[0]["c3"] == "😀" and rows[0]["c4"] is True
    )
    assert rows[1]["c5"].isoformat() == "2020-02-29" and rows[1]["c7"] == Decimal("-1.10")
    assert rows[1]["c6"].isoformat() == "2019-12-31T23:00:01+00:00"
    assert rows[2]["c6"].isoformat() == "2020-01-01T00:00:00.250000+00:00" and rows[2]["c7"] == Decimal(
        "9999.99"
    )
    assert parsed.tuples.time.tolist() == [5, 6, -7]


def test_special_lines_keep_their_places() -> None:
    parsed = parse(
        '{"i":1,"ts":1}',
        '{"@punctuate":{"i":null},"ts":9}',
        '{"@op":"-","i":1,"ts":3}',
        '{"@punctuate":{"ts":4,"s":"x"},"ts":8}',
        '{"i":2,"ts":4}',
    )
    tuples, punctuations = parsed.tuples, parsed.punctuations
    assert tuples.numbers.tolist() == [1, 3, 5] and punctuations.numbers.tolist() == [2, 4]
    assert tuples.kind.tolist() == [1, -1, 1] and punctuations.kind.tolist() == [0, 1]
    assert tuples.time.tolist() == [1, 3, 4] and punctuations.time.tolist() == [9, 8]
    assert tuples.rows["c8"].to_pylist() == [1, 3, 4]
    assert punctuations.rows.to_pydict() == {"c0": [None, None], "c3": [None, "x"], "c8": [None, 4]}


def test_quoted_names_match_exactly() -> None:
    layout = RecordLayout((Field("End", BIGINT), Field("end", BIGINT), Field("ts", BIGINT)), 2)
    parsed = parse('{"End":1,"end":2,"ts":3}', '{"END":1,"ts":3}', layout=layout)
    assert parsed.tuples.rows.to_pylist() == [{"c0": 1, "c1": 2, "c2": 3}]
    assert len(parsed.dead) == 1


def test_a_line_beyond_the_limit_is_dead() -> None:
    parsed = parse('{"ts":1}', b'{"ts":2,"s":"' + b"x" * LINE_LIMIT + b'"}', '{"ts":3}')
    assert parsed.tuples.time.tolist() == [1, 3] and len(parsed.dead) == 1


def assert_equal(one: Parsed, other: Parsed) -> None:
    assert one.dead == other.dead
    for ours, theirs in ((one.tuples, other.tuples), (one.punctuations, other.punctuations)):
        assert ours.rows.equals(theirs.rows) and ours.rows.num_rows == len(ours)
        for name in ("kind", "time", "numbers"):
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
            assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()


def _value(rng: random.Random) -> str:
    pool = [
        "1",
        "-0",
        "2.5",
        "1e2",
        "null",
        "true",
        '"a"',
        '"2020-01-01"',
        '"2020-01-01T00:00:00Z"',
        "1.25",
        '"é"',
    ]
    return rng.choice(pool)


def _line(rng: random.Random, clean: bool) -> bytes:
    by_name = {"i": "5", "j": "-3", "d": "2.5", "s": '"a\\"m\\": 5"', "b": "false", "day": '"2021-03-04"'}
    by_name |= {
        "at": '"2021-03-04T05:06:07"',
        "m": rng.choice(["1.25", "-3", "0.5"]),
        "ts": str(rng.randrange(100)),
    }
    names = [*rng.sample(sorted(by_name), rng.randrange(1, 9)), "ts"]
    pairs = {name: by_name[name] if clean or rng.random() < 0.9 else _value(rng) for name in names}
    text = "{" + ", ".join(f'"{name}": {value}' for name, value in pairs.items()) + "}"
    if not clean and rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(['"', "}", "{", ",", "null", "x", "\r", ""]) + text[at + 1 :]
    if rng.random() < 0.2:
        text = text[:-1] + ', "@op": "-"}'
    return text.encode()


@seeds(30)
def test_fast_equals_exact(seed: int) -> None:
    rng = random.Random(seed)
    dirt = rng.choice([0.0, 0.01, 0.5])
    given = block([_line(rng, rng.random() >= dirt) for _ in range(rng.choice([5, 700]))], first=11)
    fast = JsonLines(LAYOUT).parse(given)
    exact = JsonLine(LAYOUT).parse(given, np.arange(given.count))
    assert len(fast.tuples)
    assert_equal(fast, exact)


PROMISING = RecordLayout(
    (*LAYOUT.fields[:8], LAYOUT.fields[8], Field("v", STRING)),
    8,
    (Scheme((0,)), Scheme((3, 8), 10), Scheme((0, 7)), Scheme((6,)), Scheme((2, 9))),
)
PUNCTUATIONS = (
    '{"@punctuate":{"i":%d},"ts":%d}',
    '{"@punctuate":{"s":"a%d","ts":4},"ts":%d}',
    '{"ts":7, "@punctuate":{"m":%d.5,"i":%d}}',
    '{"@punctuate":{"at":"2020-01-01T00:00:%02d"},"ts":%d}',
    '{"@punctuate":{"d":%d,"v":"é"},"ts":%d}',
)
ODD = (
    '{"@punctuate":{"i":%d,"m":null},"ts":%d}',
    '{"@punctuate":{"I":%d},"ts":%d}',
    '{"@punctuate":{"d":%d,"\\u0076":"x"},"ts":%d}',
    '{"@punctuate":{"d":%d,"v":"v"},"ts":%d}',
    '{"@punctuate":{"i":%d,"i":%d},"ts":1}',
    '{"@punctuate":{"i":%d},"ts":%d,"ts":1}',
    '{"@punctuate":{"i":%d.5},"ts":%d}',
    '{"@punctuate":{"i":%d},"i":%d}',
    '{"@punctuate":{"i":%d}, "@op":"-", "ts":%d}',
    '{"s":"\\"@punctuate\\"", "i":%d, "ts":%d}',
    '{"@punctuate":null, "i":%d, "ts":%d}',
    '{"@punctuate":{"i":%d},"ts":%d} x',
)


@seeds(30)
def test_bulk_punctuations_equal_exact_ones(seed: int) -> None:
    rng = random.Random(seed)
    odd = rng.choice([0.0, 0.002, 0.3])
    lines = []
    for _ in range(rng.choice([5, 900])):
        form = rng.choice(ODD if rng.random() < odd else PUNCTUATIONS)
        lines.append((form % (rng.randrange(60), rng.randrange(60))).encode())
        if rng.random() < 0.3:
            lines.append(b'{"i": 3, "v": "w", "ts": 5}')
    given = block(lines, first=3)
    fast = JsonLines(PROMISING).parse(given)
    exact = JsonLine(PROMISING).parse(given, np.arange(given.count))
    assert len(fast.punctuations)
    assert_equal(fast, exact)
    if not odd:
        chosen = exact.punctuations.numbers - 3
        text = text_of(given, chosen)
        assert JsonLines(PROMISING)._bulk_punctuations(given, chosen, text) is not None


def test_decimals_are_exact() -> None:
    layout = RecordLayout((Field("m", Type.parse("DECIMAL(38,0)")), Field("ts", BIGINT)), 1)
    parsed = parse(json.dumps({"m": 10**37 + 1, "ts": 1}), layout=layout)
    assert parsed.tuples.rows.column(0).to_pylist() == [Decimal(10**37 + 1)]
