"""A guard that is left out holds wherever the conditions do: random conditions over extreme values."""

from __future__ import annotations

import random

from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.linear_bounds import cannot_fail
from tests.support.canonical_conditions import holds, random_condition, random_rows
from tests.support.seeds import seed_range

ROWS = 300


def test_a_guard_that_cannot_fail_holds() -> None:
    dropped = kept = satisfied = 0
    for seed in seed_range(1500):
        chance = random.Random(seed)
        forms = [canonicalise(random_condition(chance, 1)) for _ in range(chance.randint(1, 3))]
        clauses = conjoin(form.clauses for form in forms)
        guards = [guard for form in forms for guard in form.guards]
        without = [guard for guard in guards if cannot_fail(guard, clauses)]
        dropped, kept = dropped + len(without), kept + len(guards) - len(without)
        if without:
            columns = random_rows(chance, ROWS)
            expected = holds(clauses, columns, ROWS)
            assert (holds((*clauses, *without), columns, ROWS) == expected).all(), seed
            satisfied += int(expected.sum())
    assert dropped > 10 and kept > 10 and satisfied > 20
