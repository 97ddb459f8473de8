"""The examples are what the product really says: scripts, networks, plans and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.plan_text import print_plan
from seine.algebra.types import BIGINT, DOUBLE, STRING, Field
from seine.cli.main import main
from seine.demo.alerts import DESCRIPTIONS
from seine.frontends.script.parser import parse_script, read_script
from seine.frontends.script.script import Declarations
from seine.optimizer.optimise import optimise
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.docs.pages import DOCS, EXAMPLE, ROOT, blocks, read

README = ROOT / "README.md"
HOWTO = DOCS / "howto"
LIFE = DOCS / "life_of_a_query.md"


def _printed(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 0
    return capsys.readouterr().out


def test_readme_shows_the_example() -> None:
    assert blocks(README, "sql") == [read(EXAMPLE)]


def test_example_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed(["check", str(EXAMPLE)], capsys).count("safe") == 2


def test_network_is_the_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    first, shown = blocks(LIFE, "console")[0].split("\n", 1)
    assert first.split() == ["$", "seine", "explain", str(EXAMPLE.relative_to(ROOT)), "corridor"]
    assert shown == _printed(["explain", str(EXAMPLE), "corridor"], capsys)


def test_records_are_the_real_ones() -> None:
    shown = [json.loads(line) for line in blocks(README, "json")[0].splitlines()]
    assert shown
    assert shown == run_local(str(EXAMPLE), batch_rows=1).records


def test_the_search_is_the_example_and_reports_what_is_shown() -> None:
    path, page = DOCS / "examples" / "films.sql", DOCS / "language.md"
    assert read(path) in blocks(page, "sql")
    shown = [json.loads(text) for text in blocks(page, "json") if '"tuples"' in text]
    assert len(shown) == 1
    assert shown[0] in run_local(str(path), batch_rows=1).records


def test_counts_are_the_real_ones() -> None:
    shown = json.loads(blocks(DOCS / "cli.md", "json")[0])
    real = run_local(str(EXAMPLE), batch_rows=1).stats
    assert shown | {"elapsed_s": 0} == real | {"elapsed_s": 0}


def test_plans_are_the_real_ones() -> None:
    plan = read_script(str(EXAMPLE)).declarations.queries["corridor"].plan
    shown = [text.rstrip("\n") for text in blocks(LIFE, "text")]
    assert shown == [print_plan(plan).rstrip("\n"), print_plan(optimise(plan)).rstrip("\n")]


def test_python_page_registers_a_query_that_is_accepted() -> None:
    bid = StreamDef("bid", (Field("item", BIGINT), Field("price", DOUBLE), Field("ts", BIGINT)), 2, None, 20)
    item = RelationDef("item", (Field("item", BIGINT), Field("name", STRING)), None)
    known = Declarations({"bid": bid}, {"item": item})
    text = blocks(HOWTO / "from_python.md", "python")[0].split('"""')[1]
    script = parse_script(text, file="from_python.md", folder=".", known=known)
    assert [verdict(query).safe for query, _ in script.queries] == [True]


def test_readme_counts_the_alerts_of_the_demonstration() -> None:
    assert f"{len(DESCRIPTIONS)} alerts" in read(README)
    assert f"{len(DESCRIPTIONS)} alerts" in read(DOCS / "cli.md")


def test_python_examples_compile() -> None:
    examples = [*blocks(HOWTO / "from_python.md", "python"), *blocks(DOCS / "language.md", "python")]
    assert len(examples) == 5
    for text in examples:
        compile(text, "example", "exec")


def test_answers_of_commands_are_the_real_ones(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = []
    for page in (HOWTO / "bounded_state.md", DOCS / "cli.md"):
        for block in blocks(page, "console"):
            first, _, shown = block.partition("\n")
            words = first.split()[2:]
            if words[0] in ("check", "optimum"):
                assert shown == _printed([words[0], str(ROOT / words[1]), *words[2:]], capsys)
                verdicts.append(words[0])
    assert sorted(verdicts) == ["check", "check", "optimum"]


def test_page_tells_what_the_auction_is_told_without_punctuations(tmp_path: Path) -> None:
    text = read(DOCS / "examples" / "auction.sql")
    item, bid = text.split("CREATE STREAM bid")
    script = tmp_path / "auction.sql"
    script.write_text(
        item + "CREATE STREAM bid" + bid.replace("PUNCTUATED ON (itemid) ", ""), encoding="utf-8"
    )
    ((query, _),) = read_script(str(script)).queries
    hint = verdict(query).hint
    assert hint is not None
    assert f"`{hint.split(';')[0]}`" in read(HOWTO / "bounded_state.md")


def test_auction_tells_each_item_once_and_keeps_nothing() -> None:
    assert blocks(HOWTO / "bounded_state.md", "sql") == [read(DOCS / "examples" / "auction.sql")]
    result = run_local(str(DOCS / "examples" / "auction.sql"), batch_rows=1)
    assert [(one["row"]["name"], one["row"]["price"]) for one in result.records] == [
        ("clock", 120),
        ("violin", 550),
    ]
    assert result.stats["state_rows"]["final"] == 0 < result.stats["state_rows"]["peak"]


def test_page_tells_what_too_little_memory_reports(capsys: pytest.CaptureFixture[str]) -> None:
    script = str(DOCS / "examples" / "star.sql")
    result = run_local(script).stats["queries"]["limited"]
    page = " ".join(read(HOWTO / "bounded_state.md").split())
    assert f"reports results of importance {result['importance']:.0f}," in page
    best = _printed(["optimum", script, "limited"], capsys).splitlines()[0]
    assert f"`{best.partition(' (')[0]}`" in page
