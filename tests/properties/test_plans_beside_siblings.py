"""A query means beside others of its text with other constants what it means alone.

The law of what is put together from what was read before (docs/design/bulk.md): for every query that the
tests know, the plan that is read after siblings equals the plan that is read alone, in every field; and so do
refusals.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest

from seine.algebra.plan import Plan
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script
from seine.frontends.sql import plan_templates
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.text.lexer import ScriptText, tokenize
from seine.frontends.xscl.parse_xscl import KnownBlocks, parse_xscl
from seine.run_local import run_local
from seine.safety.verdict import refuse_unsafe
from tests.cases.case_file import Case
from tests.generators.constants import with_other_constants, with_strange_constants
from tests.support.known_queries import KnownQuery, known_queries, outcome, statements_of
from tests.support.paths import ROOT
from tests.support.same_fields import difference
from tests.support.seeds import seed_range, seeds

_PARTS = 8


@pytest.fixture(autouse=True)
def eager_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is made of the first query of a text, so that all siblings are read by it."""
    monkeypatch.setattr(plan_templates, "_FEW_SKELETONS", 0)


@cache
def _known() -> list[KnownQuery]:
    return known_queries(seed_range(2))


def _siblings(rng: Random, text: str) -> list[str]:
    """Ten queries of the same text, most with constants that are as usual as those of the text."""
    shares = (0.3, 0.6, 1.0)
    usual = [with_other_constants(rng, text, rng.choice(shares)) for _ in range(7)]
    strange = [with_strange_constants(rng, text, rng.choice(shares)) for _ in range(3)]
    return rng.sample([*usual, *strange], 10)


def _from_templates(templates: PlanTemplates, text: str) -> Plan | None:
    """The plan that is put together; None if the query is read as if it were alone."""
    source = ScriptText(text, "q")
    tokens = outcome(tokenize, source)
    return None if isinstance(tokens, str) else templates.plan(source, tokens[:-1], 0, len(text))


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_plan_read_after_siblings_is_the_plan_read_alone(part: int) -> None:
    assembled = 0
    for query in _known()[part::_PARTS]:
        if not query.is_select:
            continue
        rng, alone = Random(query.text), query.plan(query.text)
        siblings = _siblings(rng, query.text)[: 10 if isinstance(alone, Plan) else 3]
        templates = PlanTemplates(query.tables())
        for sibling in siblings:
            _from_templates(templates, sibling)
        sibling = rng.choice(siblings)
        for text, expected in ((query.text, alone), (sibling, query.plan(sibling))):
            plan: Plan | str | None = _from_templates(templates, text)
            assembled += plan is not None
            if plan is None:
                source = ScriptText(text, "q")
                plan = outcome(parse_select, source, 0, len(text), templates.tables)
            assert difference(plan, expected) is None, (query.origin, text, difference(plan, expected))
    assert assembled > 250


def test_documents_asked_for_after_siblings_are_those_asked_for_alone() -> None:
    joined = 0
    for query in filter(lambda one: one.is_document_query, _known()):
        _, text, _ = query.text.split("$$")
        streams = {**query.declared.published, **query.declared.streams}
        blocks, source = KnownBlocks(streams), ScriptText(text, "q")
        for sibling in _siblings(Random(text), text):
            outcome(blocks.query, ScriptText(sibling, "q"), 0, len(sibling))
        beside = outcome(blocks.query, source, 0, len(text))
        alone = outcome(parse_xscl, source, 0, len(text), streams)
        assert difference(beside, alone) is None, (query.origin, text)
        joined += blocks._put_together(text) is not None
    assert joined > 20


@cache
def _cases() -> list[Path]:
    """The cases that have records."""
    paths = sorted((ROOT / "tests" / "cases").rglob("*.case"))
    return [path for path in paths if Case.read(path).records()]


def _with_siblings(rng: Random, script: str) -> str:
    """The script with siblings of each query before it, those left out that are refused."""
    written = ""
    for number, statement in enumerate(statements_of(script)):
        if statement.query is not None:
            for sibling in _siblings(rng, statement.query)[:4]:
                words = statement.text.removesuffix(statement.query)
                name = f"sibling_{number}_{written.count(';')}"
                more = f"{words.replace(statement.name, name, 1)}{sibling};\n"
                if not isinstance(outcome(_accepted, written + more), str):
                    written += more
        written += f"{statement.text};\n"
    return written


def _accepted(text: str) -> Script:
    """A script that can run; one that is wrong or unsafe is refused."""
    script = parse_script(text, file="", folder="/")
    refuse_unsafe(script)
    return script


def _records(path: Path) -> Counter[str]:
    return Counter(str(sorted(record.items())) for record in run_local(str(path)).records)


@seeds(6)
def test_answers_beside_siblings_are_those_alone(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    of_siblings = 0
    for path in rng.sample(_cases(), 2):
        folder = tmp_path / path.stem
        folder.mkdir()
        script = Case.read(path).unpack(folder)
        alone = _records(script)
        script.write_text(_with_siblings(rng, script.read_text(encoding="utf-8")), encoding="utf-8")
        together = _records(script)
        untouched = Counter({text: count for text, count in together.items() if "'sibling_" not in text})
        assert untouched == alone, (path, script.read_text(encoding="utf-8"))
        of_siblings += len(together) - len(untouched)
    assert of_siblings
