"""Tables of random values of each type, to compare scalar functions with Spark."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

# a column of each type of the contract, and strings of several sorts
COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "s": ("STRING", pa.string()),  # words, digits and signs, some beyond ASCII
    "w": ("STRING", pa.string()),  # a short text that often occurs in s
    "u": ("STRING", pa.string()),  # URLs, some of them broken
    "j": ("STRING", pa.string()),  # JSON, some of it broken
    "z": ("STRING", pa.string()),  # time zones
    "i": ("INT", pa.int32()),
    "k": ("INT", pa.int32()),  # small, around zero
    "l": ("BIGINT", pa.int64()),
    "x": ("DOUBLE", pa.float64()),
    "m": ("DECIMAL(12,3)", pa.decimal128(12, 3)),
    "b": ("BOOLEAN", pa.bool_()),
    "d": ("DATE", pa.date32()),
    "t": ("TIMESTAMP", pa.timestamp("us", tz="UTC")),
}

_LETTERS = "aabbcdeXYZ019 .,-_&=/'\"\\äß√😀\n\t"
_JSON = (
    '{"a": 1, "b": {"c": "x\\"y", "d": [1, 2.50, null, true]}, "b": 7}',
    '{"a": "text", "list": [{"v": 1}, {"v": "two"}, {"w": 3}], "o": {}}',
    '[{"a": [1, 2]}, {"a": [3]}, 5, "s"]',
    '{"a": null, "b": {"c": null}, "a b": 3, "n": 1e20, "m": -0.0, "k": 12345678901234567890123}',
    '{"a": [[1, 2], [3, [4]]], "b": "\\u00e4\\n", "c": 1.10}',
    '{"a": 1',
    '{"a": 1} tail',
    "{'a': 1}",
    '{"a": 01}',
    "[1, 2, 3]",
    '"text"',
    '{"b": {"c": "x\\u00e4", "d": ["p", 7, null, {"q": 1.0}]}, "a": -5, "t": "2024-02-29T01:02:03Z"}',
    '{"a": 3000000000, "b": {"c": 12.50}, "f": "NaN", "t": 17, "d": "2024-02-29", "g": true}',
    '{"a": "7", "b": [1], "f": 12345.678901, "d": "no", "g": "true", "t": "soon"}',
    "12",
    "null",
    "",
    "nonsense",
)
_URLS = (
    "http://example.com/path/p.php?query=1&k=v&k=w#ref",
    "https://user:pw@host.example.org:8080/a/b%20c?channel_id=apple&x=#frag",
    "https://www.nexmark.com/gax_cd/ojx/hck/item.htm?query=1&channel_id=99",
    "ftp://127.0.0.1/file.txt",
    "http://under_score.com/x?y=z",
    "mailto:someone@example.com",
    "file:///etc/hosts",
    "/relative/path?q=1",
    "http://host",
    "http://host?k=1",
    "http://[::1]:80/x",
    "http://ho st/x",
    "http://host/a b",
    "http://host/%zz",
    "http://host:port/x",
    "http://exämple.com/ä?ö=ü",
    "1http://x/y",
    "http://",
    "x:",
    "?k=v",
    "#f",
    "",
    "http://a.b.c.:80/?k=v&kk=1",
    "http://1.2.3/x",
    "http://a-.b/x",
    "http://h/p|q?k=a|b",
    "http://h?k=[1]#a#b",
)
_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "+02:30", "No/Where")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def random_table(seed: int, rows: int) -> pa.Table:
    """A table of random values and corner cases, a tenth of them NULL."""
    rng = random.Random(seed)
    columns = {}
    for name, (_, type_) in COLUMNS.items():
        drawn = [None if rng.random() < 0.1 else _MAKERS[name](rng) for _ in range(rows)]
        columns[name] = pa.array(drawn, type_)
    return pa.table(columns)


def _text(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.randrange(12)))


def _whole(bits: int, rng: random.Random) -> int:
    limit = 2 ** rng.choice([3, 8, bits // 2, bits - 1])
    return rng.choice([0, 1, -1, rng.randrange(-limit, limit), rng.randrange(-limit, limit)])


def _double(rng: random.Random) -> float:
    corner = rng.choice([0.0, -0.0, 0.5, -2.5, 1.005, 1e300, 1e-300, float("inf"), float("nan"), -1.0])
    return rng.choice([corner, round(rng.uniform(-100, 100), 2), rng.uniform(-3, 3), rng.uniform(0, 1e9)])


def _instant(rng: random.Random) -> dt.datetime:
    micros = rng.choice([10**15, 3 * 10**15, 86_400_000_000 * 400])
    return _EPOCH + dt.timedelta(microseconds=rng.randrange(-micros, micros) // rng.choice([1, 10**6]) * 1)


_MAKERS: dict[str, Any] = {
    "s": _text,
    "w": lambda rng: rng.choice(["a", "b", ".", "ab", "X", " ", "", "ä", "aa", _text(rng)]),
    "u": lambda rng: rng.choice(_URLS),
    "j": lambda rng: rng.choice(_JSON),
    "z": lambda rng: rng.choice(_ZONES),
    "i": lambda rng: _whole(32, rng),
    "k": lambda rng: rng.randrange(-4, 8),
    "l": lambda rng: _whole(64, rng),
    "x": _double,
    "m": lambda rng: Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-3),
    "b": lambda rng: rng.random() < 0.5,
    "d": lambda rng: _instant(rng).date(),
    "t": _instant,
}
