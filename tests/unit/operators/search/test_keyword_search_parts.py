"""`explain` says of a search what it looks for, how it spreads, what is replicated and what that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.cli.main import main

SCRIPT = """\
CREATE STREAM director (did BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'd.jsonl';
CREATE STREAM movie (did BIGINT, title STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 90 FROM 'm.jsonl';
CREATE STREAM news (txt STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'n.jsonl';
CREATE JOIN movie.did = director.did;
CREATE QUERY pairs AS SEARCH 'tarantino "pulp fiction"' OVER (director, movie) MAX 2 TUPLES;
CREATE QUERY lone AS SEARCH 'kill*';
"""


def _explained(folder: Path, capsys: pytest.CaptureFixture[str], *query: str, more: str = "") -> list[str]:
    (folder / "films.sql").write_text(SCRIPT + more)
    assert main(["explain", str(folder / "films.sql"), *query]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_a_search_says_what_it_looks_for_and_what_its_copies_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = _explained(tmp_path, capsys, "pairs")
    assert 'it looks for tarantino, "pulp fiction" in at most 2 tuples of director, movie' in page
    assert any(line.startswith("each of up to 8 buckets holds a copy of the tuples alive") for line in page)
    assert "a copy holds movie: its JSON text and about 173 bytes a tuple (1 join)" in page
    assert "a copy holds nothing of news: trees are searched in other streams alone" in page
    assert "joined by movie.did = director.did" in page
    assert "it looks for kill* in one tuple of all tables" in _explained(tmp_path, capsys, "lone")


def test_stream_without_a_join_is_not_held(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = _explained(tmp_path, capsys, "pairs", more="CREATE QUERY wide AS SEARCH 'kill bill';\n")
    assert "a copy holds nothing of news: no join leads to it" in page


def test_a_stream_says_which_searches_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = _explained(tmp_path, capsys)
    (at,) = (number for number, line in enumerate(page) if line.endswith("source [stage 0]: stream movie"))
    assert page[at + 1] == "shared by pairs, lone: same stream"
