"""`seine explain --networks`: which ways could these words be connected?"""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.cli.main import main
from seine.keyword_networks import candidate_networks

FILMS = """\
CREATE STREAM director (did BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'd.jsonl';
CREATE STREAM movie (mid BIGINT, did BIGINT, title STRING, ts BIGINT)
  TIMESTAMP BY ts WINDOW 10 FROM 'm.jsonl';
CREATE STREAM plays (mid BIGINT, aid BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'p.jsonl';
CREATE STREAM actor (aid BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'a.jsonl';
CREATE RELATION town (aid BIGINT, place STRING) FROM 't.jsonl';
CREATE JOIN movie.did = director.did;
CREATE JOIN movie.mid = plays.mid;
CREATE JOIN plays.aid = actor.aid;
"""
PLAIN = "CREATE QUERY s AS SELECT title FROM movie;\n"


def _explain(tmp_path: Path, text: str, *arguments: str) -> int:
    for name in "dmpat":
        tmp_path.joinpath(f"{name}.jsonl").write_text("")
    script = tmp_path / "films.sql"
    script.write_text(FILMS + text)
    return main(["explain", str(script), *arguments, "--networks"])


def test_networks_of_films(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figure 1.1: a director's movie with an actor; plays has no text and holds no word."""
    text = "CREATE QUERY q AS SEARCH 'Tarantino Travolta' OVER (director, movie, plays, actor) MAX 4 TUPLES;"
    assert _explain(tmp_path, text, "q") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "q: 'tarantino travolta', at most 4 tuples, 17 networks"
    assert "    director{tarantino} - movie{} - plays{} - actor{travolta}" in lines
    assert "    actor{tarantino} - plays{} - movie{} - director{travolta}" in lines
    assert not [line for line in lines if "plays{t" in line]
    assert [line for line in lines if line.startswith("  ") and not line.startswith("   ")] == [
        "  1 tuple",
        "  2 tuples",
        "  3 tuples",
        "  4 tuples",
    ]


def test_parallel_conditions_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "CREATE QUERY q AS SEARCH 'a b' OVER (director, movie) MAX 2 TUPLES;"
    text = f"CREATE JOIN movie.mid = director.did;\n{query}"
    assert _explain(tmp_path, text) == 0
    page = capsys.readouterr().out
    assert "director{a} -[movie.did = director.did]- movie{b}" in page
    assert "director{a} -[movie.mid = director.did]- movie{b}" in page


def test_columns_restrict_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "CREATE QUERY q AS SEARCH 'title:kill bill' OVER (director, movie) MAX 2 TUPLES;"
    assert _explain(tmp_path, text) == 0
    page = capsys.readouterr().out
    assert "movie{title:kill} - director{bill}" in page and "director{title:kill" not in page


def test_relations_alone_are_no_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "CREATE JOIN town.aid = actor.aid;\nCREATE QUERY q AS SEARCH 'a b' OVER (actor, town) MAX 3 TUPLES;"
    )
    assert _explain(tmp_path, text) == 0
    page = capsys.readouterr().out
    assert "town{a} - actor{b}" in page and "town{a,b}" not in page


def test_very_many_networks_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "CREATE QUERY q AS SEARCH 'a b c d e' OVER (director, movie, plays, actor) MAX 16 TUPLES;"
    assert _explain(tmp_path, text) == 0
    page = capsys.readouterr().out
    assert "the first 1,000 networks" in page and page.endswith("  and more\n")


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _explain(tmp_path, PLAIN) == 1
    assert "this script has no SEARCH" in capsys.readouterr().err
    search = "CREATE QUERY q AS SEARCH 'a b c d e f g' OVER (director, movie);"
    assert _explain(tmp_path, PLAIN + search, "s") == 1
    assert "'s' is no SEARCH" in capsys.readouterr().err
    assert _explain(tmp_path, PLAIN + search, "q") == 1
    assert "'q' has 7 terms, and networks are shown for 6" in capsys.readouterr().err


WIDE = "CREATE JOIN movie.mid = movie.did;\nCREATE JOIN movie.title = movie.title;\n"
FAR = "CREATE QUERY far AS SEARCH 'title:kill place:x' OVER (movie, town) MAX 16 TUPLES;\n"


@pytest.fixture
def _few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_networks, "_MOST_TREES_GROWN", 2_000)


@pytest.mark.usefixtures("_few_are_tried")
def test_networks_that_are_too_many_to_try_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _explain(tmp_path, WIDE + FAR, "far") == 1
    assert "too many candidate networks to try" in capsys.readouterr().err


@pytest.mark.usefixtures("_few_are_tried")
def test_search_whose_networks_are_not_shown_hides_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "CREATE QUERY long AS SEARCH 'a b c d e f g';\n"
    near = "CREATE QUERY near AS SEARCH 'kill' OVER (movie);\n"
    assert _explain(tmp_path, WIDE + FAR + long + near) == 0
    page = capsys.readouterr().out
    assert "far: not shown, too many candidate networks to try" in page
    assert "long: not shown, 'long' has 7 terms" in page
    assert "    movie{kill}" in page
