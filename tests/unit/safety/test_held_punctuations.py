"""Punctuations that grow without end: told in the verdict, refused by wish, counted apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.cli.main import main
from seine.run_local import run_local
from seine.safety.verdict import Verdict, verdict
from tests.support.front_end import parse

CYCLE = """\
CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) {} FROM 's1.jsonl';
CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (c) {} FROM 's2.jsonl';
CREATE STREAM s3 (c BIGINT, a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) {} FROM 's3.jsonl';
"""
EXAMPLE_3 = "SELECT s1.ts AS p, s2.ts AS q FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a"
GROUPED = """\
CREATE STREAM x (a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'x';
CREATE STREAM y (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) PUNCTUATED ON (b) FROM 'y';
CREATE STREAM z (b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'z';
"""


def judged(declared: str, sql: str, options: str = "") -> Verdict:
    return verdict(parse(f"{declared}CREATE QUERY q {options} AS {sql};").declarations.queries["q"])


def cycle(clauses: str = "") -> str:
    return CYCLE.format(clauses, clauses, clauses)


def test_the_cycle_of_example_3_is_safe_and_its_punctuations_grow() -> None:
    result = judged(cycle(), EXAMPLE_3)
    assert result.safe and result.accepted
    assert result.punctuations == {"s1.b": False, "s2.c": False, "s3.a": False}
    assert result.reason.endswith("but punctuations of s1.b, s2.c, s3.a grow without end")
    assert result.to_json()["punctuations"] == result.punctuations


def test_it_is_refused_where_punctuations_must_be_bounded() -> None:
    strict = "WITH (punctuations = 'bounded')"
    result = judged(cycle(), EXAMPLE_3, strict)
    assert not result.safe and not result.accepted
    assert result.reason == (
        "query q could grow without bound: nothing purges the punctuations of s1.b, s2.c, s3.a"
    )
    assert result.hint is not None and result.hint.startswith(
        "declare s2 PUNCTUATED ON (b) and s3 PUNCTUATED ON (c) and s1 PUNCTUATED ON (a); or "
    )
    by_wish = judged(cycle(), EXAMPLE_3, "WITH (punctuations = 'bounded', unbounded = true)")
    assert by_wish.accepted and not by_wish.safe


@pytest.mark.parametrize(
    "clauses",
    ["PUNCTUATED ON ({})", "LIFESPAN 9 WINDOW 9", "REUSED AFTER 9"],
    ids=["the other column too", "lifespans", "values that are reused"],
)
def test_other_punctuations_or_a_lifespan_bound_them(clauses: str) -> None:
    other = [clauses.format(column) for column in ("a", "b", "c")]
    result = judged(CYCLE.format(*other), EXAMPLE_3, "WITH (punctuations = 'bounded')")
    assert result.safe and all(result.punctuations.values())


def test_groups_hold_punctuations_too() -> None:
    """Of (a, b), x punctuates a and z punctuates b: neither punctuation says what the other needs."""
    sql = "SELECT x.a, z.b, COUNT(*) AS n FROM x, y, z WHERE x.a = y.a AND y.b = z.b GROUP BY x.a, z.b"
    assert judged(GROUPED, sql).punctuations == {"x.a": False, "y.a": False, "y.b": False, "z.b": False}
    sql = "SELECT x.a, COUNT(*) AS n FROM x, y WHERE x.a = y.a GROUP BY x.a"
    assert judged(GROUPED, sql).punctuations == {"x.a": True, "y.a": True}


def test_a_relation_that_is_looked_up_punctuates_nothing(capsys: Any, tmp_path: Path) -> None:
    declared = (
        "CREATE STREAM x (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 PUNCTUATED ON (a) FROM 'x';"
        "CREATE STREAM y (b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'y';"
        "CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f';"
    )
    sql = "SELECT x.a FROM x, f, y WHERE x.a = f.a AND y.b = f.b"
    assert judged(declared, sql).punctuations == {"x.a": False}
    script = tmp_path / "q.sql"
    script.write_text(f"{declared}CREATE QUERY q AS {sql};")
    assert main(["check", str(script)]) == 0
    assert "punctuations of x.a stay, and grow without end: with a LIFESPAN" in capsys.readouterr().out


def rounds(count: int) -> dict[str, list[dict[str, Any]]]:
    """In each round three rows of each stream that join, and the punctuations of all their values."""
    lines: dict[str, list[dict[str, Any]]] = {"s1": [], "s2": [], "s3": []}
    for time in range(count):
        for name, columns, punctuated in (("s1", "ab", "b"), ("s2", "bc", "c"), ("s3", "ca", "a")):
            values = [3 * time + i for i in range(3)]
            lines[name] += [{**dict.fromkeys(columns, value), "ts": time} for value in values]
            lines[name] += [{"@punctuate": {punctuated: value}, "ts": time} for value in values]
    for number, name in enumerate(
        lines
    ):  # what joins nothing: what is held is looked at before a stream ends
        strangers = range(1000 * number + 1000, 1000 * number + 1012)
        lines[name] += [{**dict.fromkeys(lines[name][0], value), "ts": count} for value in strangers]
    return lines


@pytest.mark.parametrize(("count", "promised"), [(1, 9), (5, 45), (9, 81)])
def test_stats_tell_punctuations_apart(count: int, promised: int, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(f"{cycle()}CREATE QUERY q AS {EXAMPLE_3};")
    for name, lines in rounds(count).items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run_local(str(tmp_path / "q.sql"), batch_rows=6)
    assert len(result.records) == 3 * count
    of_query = result.stats["queries"]["q"]
    assert result.stats["punctuations"]["peak"] == of_query["punctuations"]["peak"] == promised
    assert of_query["state_rows_peak"] >= promised and of_query["state_rows_peak"] - promised < 50
