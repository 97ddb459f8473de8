"""Templates of rules differ, and are safe."""

from __future__ import annotations

from benchmarks.workloads import rules
from seine.safety.verdict import refuse_unsafe
from tests.support.transfer_script import transfer_script


def test_templates_differ_and_are_safe() -> None:
    given = rules.rules(60)
    made = rules.templates(50)
    assert len(set(made)) == 50
    for text in (rules.one_template(given), rules.mixed_templates(given)):
        script = transfer_script(text)
        refuse_unsafe(script)
        assert len(script.declarations.queries) == 60
