"""Canonical forms mean what the text means, and texts that mean the same have one form."""

from __future__ import annotations

import random

import numpy as np
import pytest

from seine.operators.evaluate import truth
from seine.optimizer.canonical.canonicalise import canonicalise
from tests.unit.canonical_conditions import holds, random_condition, random_rows

ROWS = 400


@pytest.mark.parametrize("seed", range(30))
def test_canonical_forms_hold_where_the_text_is_true(seed: int) -> None:
    rng = random.Random(seed)
    columns = random_rows(rng, ROWS)
    for _ in range(100):
        text = random_condition(rng, rng.choice([0, 0, 1, 2]))
        form = canonicalise(text)
        wanted = truth(text, columns, ROWS)
        enough = holds(form.clauses, columns, ROWS)
        assert not np.any(wanted & ~enough), str(text)
        exactly = enough & holds(form.guards, columns, ROWS)
        assert np.array_equal(exactly, wanted), str(text)
        assert form.exact == (form.guards == ())
