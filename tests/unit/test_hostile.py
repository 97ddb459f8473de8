"""A hostile user: every attack is answered by a refusal or by dead letters, and no neighbour notices."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.cli.main import main
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import LocalHost, run_local
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.output.query_figures import RunStatistics

STREAM = (
    "CREATE STREAM s (a BIGINT, b STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM '{path}' {clauses};\n"
)
LINES = '{"a": 1, "b": "x", "ts": 1}\n{"a": 2, "b": "y", "ts": 2}\n'


def script(folder: Path, queries: str, path: str = "s.jsonl", clauses: str = "", lines: str = LINES) -> str:
    (folder / "s.jsonl").write_text(lines)
    file = folder / "script.sql"
    file.write_text(STREAM.format(path=path, clauses=clauses) + queries)
    return str(file)


def select(items: str) -> str:
    return f"CREATE QUERY q AS SELECT {items} FROM s;"


def carry(path: str, **options) -> RunStatistics:
    run = Run(read_script(path), Options(**options))
    try:
        run.driver.run_all(LocalHost(run.deployment).run)
        return run.statistics(0)
    finally:
        run.close()


def doubling(entry: str, levels: int) -> str:
    entries = [
        "c0 AS (SELECT a FROM s)",
        *(f"c{i} AS ({entry.format(f'c{i - 1}')})" for i in range(1, levels)),
    ]
    return f"CREATE QUERY q AS WITH {', '.join(entries)} SELECT a FROM c{levels - 1};"


@pytest.mark.parametrize(
    "query",
    [
        doubling("SELECT x.a FROM {0} x, {0} y WHERE x.a = y.a", 40),
        doubling("SELECT a FROM {0} UNION ALL SELECT a FROM {0}", 40),
        doubling("SELECT x.a, COUNT(*) AS n FROM {0} x, {0} y WHERE x.a = y.a GROUP BY x.a", 40),
        doubling("SELECT a + a AS a FROM {0}", 60),
        select("+".join(["a"] * 300)),
        select("- " * 2000 + "a"),
    ],
)
def test_a_query_that_explodes_is_refused_with_its_place(tmp_path, query, capsys):
    assert main(["check", script(tmp_path, query)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{tmp_path}/script.sql:2:") and "hint: split it" in error


def test_the_deepest_expression_that_is_accepted_also_runs_and_explains(tmp_path, capsys):
    path = script(tmp_path, select("+".join(["a"] * 119) + " AS total"))
    assert [record["row"]["total"] for record in run_local(path).records] == [119, 238]
    assert main(["explain", path]) == 0
    assert "a + a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("WITH (foo = '1')", "a source of FORMAT JSON has no option foo"),
        ("WITH (delimiter = ';')", "a source of FORMAT JSON has no option delimiter"),
        ("WITH (headr = 'true') FORMAT CSV", "a source of FORMAT CSV has no option headr"),
        ("WITH (namespaces = 'ignore')", "a source of FORMAT JSON has no option namespaces"),
        ("FORMAT XML WITH (namespaces = 'x')", "FORMAT XML needs one column of type XML"),
    ],
)
def test_an_unknown_option_of_a_source_is_refused(tmp_path, clauses, message):
    with pytest.raises(SeineError) as refusal:
        read_script(script(tmp_path, "", clauses=clauses))
    assert refusal.value.message == message and refusal.value.where.line == 1


def test_namespaces_are_an_option_of_a_stream_with_documents(tmp_path):
    file = tmp_path / "script.sql"
    file.write_text(
        "CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'd' WITH (namespaces = 'ignore');"
    )
    assert dict(read_script(str(file)).declarations.streams["d"].source.options) == {"namespaces": "ignore"}


@pytest.mark.parametrize("content", [b"a,b,ts", b"a,b,ts\n", b"\xef\xbb\xbf", b"\xef\xbb\xbfa,b,ts\r\n", b""])
@pytest.mark.parametrize("clauses", ["FORMAT CSV", ""])
def test_a_file_without_records_ends(tmp_path, content, clauses):
    (tmp_path / "c").write_bytes(content)
    result = run_local(script(tmp_path, select("a"), "c", clauses))
    assert result.records == []
    assert len(result.dead) == (content.count(b"a") if not clauses else 0)


def test_a_file_after_one_with_only_a_header_is_read(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "1.csv").write_text("a,b,ts")
    (tmp_path / "d" / "2.csv").write_text("ts,a\n5,7\n")
    result = run_local(script(tmp_path, select("a"), "d", "FORMAT CSV"), batch_rows=1)
    assert [record["row"] for record in result.records] == [{"a": 7}]


def test_a_damaged_parquet_file_is_told_in_one_line(tmp_path):
    table = pa.table({"a": list(range(1000)), "ts": list(range(1000))})
    pq.write_table(table, tmp_path / "p", use_dictionary=False, compression="none")
    content = (tmp_path / "p").read_bytes()
    (tmp_path / "p").write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    with pytest.raises(SeineError, match="cannot read row group 0"):
        run_local(script(tmp_path, select("a"), "p", "FORMAT PARQUET"))


@pytest.mark.parametrize(
    "expression",
    [
        "CAST(-9223372036854775808 AS TIMESTAMP)",
        "a / 0",
    ],
)
def test_an_expression_that_fails_is_null_and_its_neighbour_goes_on(tmp_path, expression):
    path = script(tmp_path, select(f"{expression} AS o") + "CREATE QUERY ok AS SELECT a FROM s;")
    rows = {name: [r["row"] for r in run_local(path).records if r["query"] == name] for name in ("q", "ok")}
    assert rows == {"q": [{"o": None}] * 2, "ok": [{"a": 1}, {"a": 2}]}


@pytest.mark.parametrize(
    "expression",
    [
        "replace(repeat('a', 200000), 'a', repeat('b', 200000))",
        "regexp_replace(repeat('a', 200000), 'a', repeat('b', 200000))",
        "repeat(b, 2000000000)",
    ],
)
def test_an_expression_that_asks_for_too_much_fails_alone(tmp_path, expression):
    path = script(tmp_path, select(f"{expression} AS o") + "CREATE QUERY ok AS SELECT a FROM s;")
    rows = {name: [r["row"] for r in run_local(path).records if r["query"] == name] for name in ("q", "ok")}
    assert rows == {"q": [], "ok": [{"a": 1}, {"a": 2}]}


def test_replacing_keeps_what_does_not_grow_beyond_reason(tmp_path):
    text = "a" * 700_000
    path = script(
        tmp_path,
        select("replace(b, 'a', 'b') AS x, regexp_replace(b, '(a)', '$1') AS y, replace(b, 'a', 'bb') AS z"),
        lines=json.dumps({"b": text, "ts": 1}),
    )
    (row,) = [record["row"] for record in run_local(path).records]
    assert (row["x"], row["y"], row["z"]) == (text.replace("a", "b"), text, text.replace("a", "bb"))


def test_no_input_is_written_over(tmp_path):
    path = script(tmp_path, select("a"))
    os.symlink(tmp_path / "s.jsonl", tmp_path / "link")
    for name in ("s.jsonl", "link"):
        for option in ("out", "dead_letter"):
            with pytest.raises(SeineError, match="would be written over"):
                carry(path, **{option: str(tmp_path / name)})
    assert (tmp_path / "s.jsonl").read_text() == LINES
    with pytest.raises(SeineError, match="would be written over"):
        refuse_overwriting([str(tmp_path / "new.jsonl")], [str(tmp_path)])


@pytest.mark.parametrize("option", ["--out", "--dead-letter", "--stats"])
def test_no_script_is_written_over(tmp_path, option, capsys):
    path = script(tmp_path, select("a"))
    before = Path(path).read_text()
    assert main(["run", path, option, path]) == 1
    assert "would be written over" in capsys.readouterr().err and Path(path).read_text() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("options", [{"out": "/dev/full"}, {"out": os.devnull, "dead_letter": "/dev/full"}])
def test_a_full_disk_is_told(tmp_path, options):
    with pytest.raises(SeineError, match="cannot write the output: No space left") as refusal:
        carry(script(tmp_path, select("a"), lines=LINES + "bad\n"), **options)
    assert refusal.value.exit_status == 3


def checkpointed(folder: Path) -> tuple[str, dict[str, str]]:
    path = script(folder, select("a"))
    options = {"out": str(folder / "out"), "checkpoint": str(folder / "state")}
    carry(path, **options)
    return path, options


@pytest.mark.parametrize("content", ["", "{", "[]", "{'a': 1}"])
@pytest.mark.parametrize("name", ["settings", "log"])
def test_a_damaged_checkpoint_is_refused_and_no_output_lost(tmp_path, name, content):
    path, options = checkpointed(tmp_path)
    before = (tmp_path / "out").read_bytes()
    kept = sorted(file for file in (tmp_path / "state").glob(f"{name}*/**/*") if file.is_file())
    kept[-1].write_text(f"\n{content}" if name == "settings" else content)
    with pytest.raises(SeineError, match="checkpoint is damaged"):
        carry(path, **options)
    for file in kept:
        file.unlink()
    with pytest.raises(SeineError, match=r"damaged|cannot keep state"):
        carry(path, **options)
    assert (tmp_path / "out").read_bytes() == before != b""


@pytest.mark.parametrize("form", [{"format": 5, "labels": [0]}, {"format": 70, "of": "the future"}])
def test_a_checkpoint_of_another_format_is_refused_in_one_line(tmp_path, form):
    path, options = checkpointed(tmp_path)
    (settings,) = (tmp_path / "state" / "settings").iterdir()
    settings.write_text(f"\n{json.dumps(form)}")
    with pytest.raises(SeineError, match=r"it is too (old|new)") as refusal:
        carry(path, **options)
    assert refusal.value.hint and "\n" not in refusal.value.message


def test_names_of_files_that_are_not_utf8_are_read_and_resumed(tmp_path):
    folder = os.fsencode(tmp_path / "data")
    os.mkdir(folder)
    for ts, name in enumerate((b"a\xff.jsonl", b"b\xfe.jsonl")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(f'{{"a": 1, "b": "x", "ts": {ts}}}\n' * 2)
    path = script(tmp_path, select("a"), path="data")
    options = {"out": str(tmp_path / "out"), "checkpoint": str(tmp_path / "state"), "batch_rows": 1}
    carry(path, **options)
    assert carry(path, **options).output_rows == 4


def test_a_damaged_journal_is_refused(tmp_path):
    path, options = checkpointed(tmp_path)
    for entry in (tmp_path / "state" / "journal").iterdir():
        entry.write_text("{")
    with pytest.raises(SeineError, match="checkpoint is damaged"):
        carry(path, **options)


def test_a_checkpoint_folder_of_somebody_else_is_refused(tmp_path):
    path = script(tmp_path, select("a"))
    (tmp_path / "file").write_text("x")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "precious").write_text("x")
    for name in ("file", "foreign"):
        with pytest.raises(SeineError, match="cannot keep state"):
            carry(path, out=str(tmp_path / "out"), checkpoint=str(tmp_path / name))


def test_names_cannot_control_the_terminal(tmp_path, capsys):
    queries = 'CREATE QUERY "a\x1b[2J\nb" AS SELECT a FROM s; CREATE QUERY c AS SELECT "x\x1b[2J" FROM s;'
    assert main(["check", script(tmp_path, queries)]) == 1
    assert main(["check", script(tmp_path, queries.split(";")[0])]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\\x1b[2J\\x0ab" in said.out


def test_a_fault_of_ours_is_one_line_and_a_file(tmp_path, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("ours\nnot theirs")

    monkeypatch.setattr("seine.cli.check_command.read_script", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["check", "x"]) == 3
    first, hint = capsys.readouterr().err.strip().split("\n")
    assert first == "internal error: ZeroDivisionError: ours"
    assert "ours\nnot theirs" in Path(hint.split()[-1]).read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE STREAM s (\"@op\" STRING, ts BIGINT) TIMESTAMP BY ts FROM 's';", "marks a kind of line"),
        (
            STREAM.format(path="s", clauses="") + f'CREATE QUERY "{"n" * 256}" AS SELECT a FROM s;',
            "has 256 characters, more than 255",
        ),
        (STREAM.format(path="s", clauses="") + f'CREATE QUERY "{"ü" * 255}" AS SELECT a FROM s;', None),
        ("CREATE STREAM \"\" (ts BIGINT) TIMESTAMP BY ts FROM 's';", "this quoted name is empty"),
        (
            f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts WINDOW {'9' * 5000} FROM 's';",
            "more than 1000 digits",
        ),
        (
            f"CREATE STREAM s (a DECIMAL({'9' * 5000}), ts BIGINT) TIMESTAMP BY ts FROM 's';",
            "more than 1000 digits",
        ),
        (STREAM.format(path="s", clauses="") + select("9" * 5000 + "L"), "more than 1000 digits"),
        (STREAM.format(path="s", clauses="") + select("1e" + "9" * 999), "more than 1000"),
        (STREAM.format(path="s", clauses="") + select("1e" + "9" * 900), None),
        (STREAM.format(path="s", clauses="") + select("1e5-1"), "put spaces around the operator"),
        (STREAM.format(path="s", clauses="") + select("1e-5 - 1e5 AS x, '1e5-1' AS y"), None),
        (STREAM.format(path="s", clauses="") + select(f"INTERVAL '{'9' * 5000}' DAY"), "interval"),
        (
            STREAM.format(path="s", clauses="")
            + f"CREATE QUERY q WITH (limit = {'9' * 5000}) AS SELECT a FROM s;",
            "more than 1000 digits",
        ),
        (
            STREAM.format(path="s", clauses="") + f"CREATE QUERY q AS SEARCH 'x' MAX {'9' * 5000} TUPLES;",
            "more than 1000 digits",
        ),
    ],
)
def test_odd_names_and_enormous_numbers_are_refused_in_a_line(tmp_path, text, message, capsys):
    (tmp_path / "script.sql").write_text(text)
    assert main(["check", str(tmp_path / "script.sql")]) == (0 if message is None else 1)
    error = capsys.readouterr().err
    assert (message or "") in error and "internal error" not in error


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("http://x/y", "only local files"),
        ("pipe", "no plain file"),
        ("no*", "no file matches"),
        ("no", "no such"),
        ("a\0b", "no such"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path, path, reason):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SeineError, match=reason):
        run_local(script(tmp_path, select("a"), path))


def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `seine run` work in this process, without Spark."""

    def carry_out(_: object, run: Run, **__: object) -> None:
        run.driver.run_all(LocalHost(run.deployment).run)

    monkeypatch.setattr("seine.spark.session.open_session", lambda master, log, keep: None)
    monkeypatch.setattr("seine.spark.spark_host.run_on_spark", carry_out)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("1,x,1", "s.csv: the header names an unknown column '1'"),
        ("a,b,ts,b", "s.csv: the header names a column twice"),
        ("a,b", "s.csv: the header lacks the timestamp column 'ts'"),
    ],
)
def test_a_wrong_header_is_one_line_and_status_1(tmp_path, monkeypatch, capsys, header, words):
    run_here(monkeypatch)
    (tmp_path / "s.csv").write_text(f"{header}\n1,x,1\n")
    path = script(tmp_path, select("a"), path="s.csv", clauses="FORMAT CSV")
    assert main(["run", path, "--out", str(tmp_path / "out.jsonl")]) == 1
    primary, *hint = capsys.readouterr().err.strip().splitlines()
    assert words in primary and len(hint) <= 1 and all(line.startswith("  hint: ") for line in hint)
    assert not (tmp_path / "out.jsonl").exists() or (tmp_path / "out.jsonl").read_text() == ""
