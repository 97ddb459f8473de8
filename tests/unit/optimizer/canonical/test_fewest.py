"""What is dropped follows from the rest: random conditions keep their rows."""

from __future__ import annotations

import random

import pytest

from seine.optimizer.canonical import fewest as fewest_module
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import fewest
from tests.support.canonical_conditions import holds, random_condition, random_rows
from tests.support.seeds import seed_range

ROWS = 300


def test_the_same_rows_satisfy_the_fewest_conditions() -> None:
    dropped = satisfied = 0
    for seed in seed_range(300):
        chance = random.Random(seed)
        forms = [canonicalise(random_condition(chance, 1)) for _ in range(chance.randint(1, 4))]
        given, known = conjoin(form.clauses for form in forms[:-1]), forms[-1].clauses
        few, columns = fewest(given, known), random_rows(chance, ROWS)
        expected = holds((*given, *known), columns, ROWS)
        if few is None:
            assert not expected.any(), seed
            continue
        assert (holds((*few, *known), columns, ROWS) == expected).all(), seed
        dropped += len(few) < len(given)
        satisfied += int(expected.sum())
    assert dropped > 10 and satisfied > 1_000


def test_what_is_not_looked_for_would_not_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = skipped = 0
    for seed in seed_range(150):
        chance = random.Random(seed)
        forms = [canonicalise(random_condition(chance, 1)) for _ in range(chance.randint(2, 4))]
        given, known = conjoin(form.clauses for form in forms[:-1]), forms[-1].clauses
        few = fewest.__wrapped__(given, known)
        skipped += any(not fewest_module._may_follow(known, clause) for clause in given)
        with monkeypatch.context() as patched:
            patched.setattr(fewest_module, "_may_follow", lambda *_: True)
            assert few == fewest.__wrapped__(given, known), seed
        compared += few is not None
    assert compared > 50 and skipped > 20
