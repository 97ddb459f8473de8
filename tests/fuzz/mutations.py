"""Scripts that are nearly right: the repository's own, cut, doubled, mixed and with other words in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from tests.support.paths import ROOT

_TOKEN = re.compile(r"\w+|'[^']*'|\s+|.", re.DOTALL)
_ODD = (
    *("", "(", ")", ",", ";", "''", '"', "`", "$$", "--", "/*", "*/", "\\", "\x00", "\n", "\t"),
    *("\xe9", "\ud800", "\U0001f600", "0", "-1", "1e308", "1e400", "9223372036854775808"),
    *("-9223372036854775809", "0.1", "NULL", "TRUE", "INF", "SELECT", "FROM", "WHERE"),
    *("GROUP BY", "ORDER BY", "LIMIT", "OVER", "UNION ALL", "EXCEPT", "EXISTS", "IN", "CREATE"),
    *("DROP", "ALTER STREAM", "ADD COLUMN", "STREAM", "QUERY", "SINK", "RELATION", "JOIN"),
    *("VIEW", "AS", "WITH", "WINDOW", "LATENESS", "PUNCTUATED ON", "REUSED AFTER", "UNIQUE"),
    *("RETRACTABLE", "INTERVAL '1' DAY", "SEARCH", "XSCL", "FOLLOWED BY{", "TOP 3", "PER"),
    *("MAX 2 TUPLES", "window(ts, 10)", "session_window(ts, 5)", "CAST(x AS DATE)", "COUNT(*)"),
    *("SUM(DISTINCT v)", "LAG(v) OVER (ORDER BY ts)", "CASE WHEN", "END", "NOT", "'push:'"),
    *("'kafka://h/t'", "'../../etc/passwd'", "'postgresql://u:p@h/d'", "FORMAT PARQUET"),
    *("USING rate"),
)


@cache
def own_scripts() -> tuple[str, ...]:
    """The scripts of the repository: cases, examples and demonstrations."""
    cases = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "cases").rglob("*.case"))]
    scripts = [text.partition("\n---")[0] for text in cases]
    for folder in (ROOT / "docs" / "examples", ROOT / "src" / "seine" / "demo"):
        scripts += [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql"))]
    return tuple(text for text in scripts if "CREATE" in text and len(text) < 20_000)


def some_script(rng: Random) -> str:
    """A script of the repository that chance has changed in some places."""
    tokens = _TOKEN.findall(rng.choice(own_scripts()))
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        tokens = rng.choice(_CHANGES)(rng, tokens)
    return "".join(tokens)


def _replace(rng: Random, tokens: list[str]) -> list[str]:
    place = rng.randrange(len(tokens) + 1)
    return [*tokens[:place], rng.choice(_ODD), *tokens[place + 1 :]]


def _insert(rng: Random, tokens: list[str]) -> list[str]:
    place = rng.randrange(len(tokens) + 1)
    return [*tokens[:place], f" {rng.choice(_ODD)} ", *tokens[place:]]


def _cut(rng: Random, tokens: list[str]) -> list[str]:
    first, last = _span(rng, tokens)
    return tokens[:first] + tokens[last:]


def _double(rng: Random, tokens: list[str]) -> list[str]:
    first, last = _span(rng, tokens)
    return tokens[:last] + tokens[first:]


def _swap(rng: Random, tokens: list[str]) -> list[str]:
    first, last = _span(rng, tokens)
    middle = rng.randint(first, last)
    return tokens[:first] + tokens[middle:last] + tokens[first:middle] + tokens[last:]


def _borrow(rng: Random, tokens: list[str]) -> list[str]:
    """A piece of another script."""
    other = _TOKEN.findall(rng.choice(own_scripts()))
    first, last = _span(rng, other)
    place = rng.randrange(len(tokens) + 1)
    return tokens[:place] + other[first:last] + tokens[place:]


def _span(rng: Random, tokens: Sequence[str]) -> tuple[int, int]:
    first = rng.randrange(len(tokens) + 1)
    return first, min(len(tokens), first + rng.randrange(1, 20))


_CHANGES: tuple[Callable[[Random, list[str]], list[str]], ...] = (
    *(_replace, _replace, _insert, _cut, _double, _swap, _borrow),
)
