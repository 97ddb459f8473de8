"""Runs every case file; with --update, rewrites what the files expect."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.run_local import run_local
from tests.cases.case_file import Case, Record, print_record
from tests.reference.answers import Answers
from tests.reference.compare import difference, first_early_minus, net_of
from tests.reference.verdict import start_of

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.case"))
BATCHINGS = [(None, 2), (1, 3), (2, 1)]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _answered(case: Case) -> bool:
    return "refused" not in case.sections


def test_there_are_cases() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_case(path: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case = Case.read(path)
    script = case.unpack(tmp_path)
    if pytestconfig.getoption("--update"):
        _update(case, path, script)
    if not _answered(case):
        _check_refusal(case, script)
        return
    for batch_rows, buckets in BATCHINGS:
        result = run_local(str(script), batch_rows=batch_rows, buckets=buckets)
        assert difference(case.records(), map(_whole, result.records)) == ([], []), f"batch_rows={batch_rows}"
        assert difference(case.dead(), map(_letter, result.dead)) == ([], [])
        assert first_early_minus(result.records) is None
        assert [name for name, figures in result.stats["queries"].items() if "failed" in figures] == []


@pytest.mark.parametrize("path", [path for path in FILES if _answered(Case.read(path))], ids=_name)
def test_reference_agrees_with_case(path: Path, tmp_path: Path) -> None:
    case = Case.read(path)
    case.unpack(tmp_path)
    answers = Answers(case.sections["script"], tmp_path)
    assert difference(case.dead(), answers.dead) == ([], [])
    for query in answers.script.queries:
        records = [record for record in case.records() if record[0] == query]
        if answers.is_changelog(query):
            _check_changelog(answers, query, records)
        else:
            assert difference(records, [(query, *record) for record in answers.records(query)]) == ([], [])


def _check_changelog(answers: Answers, query: str, reported: list[Record]) -> None:
    records = [{"op": op, "t_start": start, "row": row} for _, op, start, _, row in reported]
    for at in (-math.inf, *answers.instants()):
        net = net_of(record for record in records if start_of(record) <= at)
        assert difference(answers.net(query, at), net) == ([], []), f"{query} at {at}"


def _check_refusal(case: Case, script: Path) -> None:
    with pytest.raises(SeineError) as refusal:
        run_local(str(script))
    message = refusal.value.render()
    assert [line for line in case.lines("refused") if line not in message] == [], message


def _update(case: Case, path: Path, script: Path) -> None:
    for section in ("expected", "dead", "refused"):
        case.sections.pop(section, None)
    try:
        result = run_local(str(script))
    except SeineError as refusal:
        case.sections["refused"] = refusal.render().replace(f"{script.parent}/", "") + "\n"
    else:
        ordered = sorted(result.records, key=_place)
        case.sections["expected"] = "".join(print_record(record) + "\n" for record in ordered)
        letters = sorted(map(_letter, result.dead))
        if letters:
            case.sections["dead"] = "".join(f"{table} {line}\n" for table, line in letters)
    case.write(path)


def _place(record: dict[str, Any]) -> tuple[Any, ...]:
    """By query and time; a life before its early end, a change's old row before its new one."""
    first = "-" if record["t_end"] is None else "+"
    return record["query"], start_of(record), record["op"] != first, print_record(record)


def _whole(record: dict[str, Any]) -> Record:
    return record["query"], record["op"], record["t_start"], record["t_end"], record["row"]


def _letter(dead: dict[str, Any]) -> tuple[str, int]:
    return dead["stream"], dead["line"]
