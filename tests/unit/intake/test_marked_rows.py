"""Punctuations and negative tuples of CSV and Parquet files, by marker columns, beside JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.errors import SeineError
from seine.run_local import LocalResult, run_local
from tests.support.seeds import seeds

COLUMNS = ("a", "b", "ts")
SCHEMES = (("a",), ("a", "b"), ("ts",))
MORE = "a punctuation has only the columns of its scheme and the timestamp"
Line = dict[str, Any]


def script(form: str) -> str:
    streams = [
        f"CREATE STREAM {name} (a BIGINT, b STRING, ts BIGINT) TIMESTAMP BY ts {clauses}"
        " PUNCTUATED ON (a) PUNCTUATED ON (b, a) PUNCTUATED ON (ts)"
        f" FROM '{name}.{form.lower()}' FORMAT {form};"
        for name, clauses in (("x", ""), ("y", "WINDOW 9 RETRACTABLE"))
    ]
    query = "SELECT x.a, x.b, x.ts AS p, y.ts AS q FROM x, y WHERE x.a = y.a AND x.b = y.b"
    return "\n".join([*streams, f"CREATE QUERY q WITH (unbounded = true) AS {query};"])


def random_lines(rng: Random, retractable: bool) -> list[Line]:
    """Tuples, punctuations and negative tuples as JSON Lines, some of which break what was punctuated."""
    lines: list[Line] = []
    for time in range(40):
        row = {"a": rng.randrange(4), "b": rng.choice(["u", "v", "w, x"]), "ts": time}
        if rng.random() < 0.15:
            scheme = rng.choice(SCHEMES)
            lines.append({"@punctuate": {name: row[name] for name in scheme}, "ts": time})
        elif retractable and rng.random() < 0.2 and lines:
            lines.append({"@op": "-", **row})
        else:
            lines.append(row)
    return lines


def marked(line: Line) -> Line:
    """A line as a row of a table with both marker columns."""
    bound = line.get("@punctuate", {})
    row = {name: bound.get(name, line.get(name)) for name in COLUMNS}
    return {**row, "ts": line["ts"], "@op": line.get("@op"), "@punctuate": ", ".join(bound) or None}


def write(folder: Path, form: str, name: str, lines: list[Line]) -> None:
    path = folder / f"{name}.{form.lower()}"
    rows = [marked(line) for line in lines]
    if form == "JSON":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif form == "CSV":
        text = io.StringIO()
        writer = csv.DictWriter(text, [*COLUMNS, "@op", "@punctuate"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    else:
        types = [("a", pa.int64()), ("b", pa.string()), ("ts", pa.int64())]
        types += [("@op", pa.string()), ("@punctuate", pa.string())]
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(types)), path, row_group_size=7)


def answers(folder: Path, form: str, lines: dict[str, list[Line]], batch_rows: int) -> LocalResult:
    folder.mkdir()
    (folder / "script.sql").write_text(script(form))
    for name, of_stream in lines.items():
        write(folder, form, name, of_stream)
    return run_local(str(folder / "script.sql"), batch_rows=batch_rows)


@seeds(4)
def test_every_format_says_the_same(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    lines = {"x": random_lines(rng, False), "y": random_lines(rng, True)}
    runs = {form: answers(tmp_path / form, form, lines, 7) for form in ("JSON", "CSV", "PARQUET")}
    expected = Counter(map(json.dumps, runs["JSON"].records))
    reasons = Counter(letter["reason"] for letter in runs["JSON"].dead)
    assert expected and any("punctuation" in reason for reason in reasons)
    for form in ("CSV", "PARQUET"):
        assert Counter(map(json.dumps, runs[form].records)) == expected, form
        assert Counter(letter["reason"] for letter in runs[form].dead) == reasons, form
        for figure in ("input_rows", "punctuations"):
            assert runs[form].stats[figure] == runs["JSON"].stats[figure], form


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"@punctuate": "b"}, "@punctuate does not name the columns of a declared scheme"),
        ({"@punctuate": "nobody"}, "@punctuate does not name the columns of a declared scheme"),
        ({"@punctuate": "a", "b": "u"}, "a punctuation has only the columns of its scheme and the timestamp"),
        (
            {"@punctuate": "a", "@op": "-"},
            "a punctuation has only the columns of its scheme and the timestamp",
        ),
        ({"@punctuate": "a", "ts": None}, "the timestamp is NULL"),
        ({"@op": "+"}, '@op is not "-"'),
    ],
)
@pytest.mark.parametrize("form", ["CSV", "PARQUET"])
def test_what_does_not_fit_is_a_dead_letter(form: str, row: Line, reason: str, tmp_path: Path) -> None:
    """The wrong row changes nothing: the tuple that it would have forbidden is read."""
    whole = {"a": 1, "b": None, "ts": 5, "@op": None, "@punctuate": None, **row}
    tuples = [{"a": 1, "b": "u", "ts": 5}, {"a": 1, "b": "u", "ts": 6}]
    (tmp_path / "script.sql").write_text(script(form))
    write(tmp_path, form, "y", tuples)
    path = tmp_path / f"x.{form.lower()}"
    write(tmp_path, form, "x", [tuples[0], tuples[0], tuples[1]])
    if form == "CSV":
        text = path.read_text().splitlines()
        wanted = ["" if whole[name] is None else str(whole[name]) for name in (*COLUMNS, "@op", "@punctuate")]
        path.write_text("\n".join([*text[:2], ",".join(wanted), text[3]]) + "\n")
    else:
        rows = pq.read_table(path)
        path.unlink()
        pq.write_table(
            pa.Table.from_pylist([rows.to_pylist()[0], whole, rows.to_pylist()[2]], rows.schema), path
        )
    result = run_local(str(tmp_path / "script.sql"))
    assert [letter["reason"] for letter in result.dead] == [reason]
    assert len(result.records) == 4


def test_a_marker_column_of_a_relation_or_of_numbers_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "ts": [1], "@punctuate": [1]}), tmp_path / "x.parquet")
    declared = "CREATE STREAM x (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'x.parquet' FORMAT PARQUET;"
    (tmp_path / "q.sql").write_text(f"{declared}CREATE QUERY q AS SELECT a FROM x;")
    with pytest.raises(SeineError, match="unknown column '@punctuate'"):
        run_local(str(tmp_path / "q.sql"))
