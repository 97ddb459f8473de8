"""The examples are what the product really says: scripts, networks, plans and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.text import print_plan
from seine.algebra.types import BIGINT, DOUBLE, STRING, Field
from seine.cli.main import main
from seine.demo.alerts import DESCRIPTIONS
from seine.engine import read_script
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations
from seine.local import run_local
from seine.optimizer.pipeline import optimise
from seine.safety.verdict import verdict
from tests.docs.pages import DOCS, EXAMPLE, ROOT, blocks, read

README = ROOT / "README.md"
LIFE = DOCS / "life_of_a_query.md"


def _told(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 0
    return capsys.readouterr().out


def test_readme_shows_the_example() -> None:
    assert blocks(README, "sql") == [read(EXAMPLE)]


def test_example_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert _told(["check", str(EXAMPLE)], capsys).count("safe") == 2


@pytest.mark.parametrize(("page", "query"), [(README, []), (LIFE, ["corridor"])], ids=["readme", "life"])
def test_network_is_the_real_one(page: Path, query: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    first, shown = blocks(page, "console")[0].split("\n", 1)
    assert first.split() == ["$", "seine", "explain", str(EXAMPLE.relative_to(ROOT)), *query]
    assert shown == _told(["explain", str(EXAMPLE), *query], capsys)


def test_records_are_the_real_ones() -> None:
    shown = [json.loads(line) for line in blocks(README, "json")[0].splitlines()]
    assert shown
    assert shown == run_local(str(EXAMPLE), batch_rows=1).records


def test_plans_are_the_real_ones() -> None:
    plan = read_script(str(EXAMPLE)).declarations.queries["corridor"].plan
    shown = [text.rstrip("\n") for text in blocks(LIFE, "text")]
    assert shown == [print_plan(plan).rstrip("\n"), print_plan(optimise(plan)).rstrip("\n")]


def test_readme_registers_a_query_that_is_accepted() -> None:
    bid = StreamDef("bid", (Field("item", BIGINT), Field("price", DOUBLE), Field("ts", BIGINT)), 2, None, 20)
    item = RelationDef("item", (Field("item", BIGINT), Field("name", STRING)), None)
    known = Declarations({"bid": bid}, {"item": item})
    text = blocks(README, "python")[0].split('"""')[1]
    script = parse_script(text, file="README.md", folder=".", known=known)
    assert [verdict(query).safe for query, _ in script.queries] == [True]


def test_readme_counts_the_alerts_of_the_demonstration() -> None:
    assert f"{len(DESCRIPTIONS)} alerts" in read(README)
    assert f"{len(DESCRIPTIONS)} alerts" in read(DOCS / "cli.md")


def test_python_examples_compile() -> None:
    examples = [*blocks(README, "python"), *blocks(DOCS / "language.md", "python")]
    assert len(examples) == 2
    for text in examples:
        compile(text, "example", "exec")


def test_the_optimum_is_the_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "cli.md"
    (block,) = [block for block in blocks(page, "console") if block.startswith("$ seine optimum")]
    first, shown = block.split("\n", 1)
    words = first.split()[2:]
    assert shown == _told([words[0], str(ROOT / words[1]), *words[2:]], capsys)
