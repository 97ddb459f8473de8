"""Thresholds of matching, made so small that a few rows take every path."""

from __future__ import annotations

import random

import pytest

from seine.evaluate import data_columns
from seine.evaluate.kernels import ordinals
from seine.operators.match import box_index, boxes, code_lookup, residual


def vary_thresholds(monkeypatch: pytest.MonkeyPatch, rng: random.Random) -> None:
    """Thresholds so small that a few rows take every way; none may change an answer."""
    monkeypatch.setattr(box_index, "_MOST_CELLS_AT_ONCE", rng.choice([7, 100, 1 << 20]))
    monkeypatch.setattr(box_index, "_MOST_DIRECT_COMPARISONS", rng.choice([0, 0, 100, 1 << 15]))
    monkeypatch.setattr(box_index, "_CELLS_PER_CANDIDATE", rng.choice([0, 0, 1, 12]))
    monkeypatch.setattr(box_index, "_CANDIDATES_PER_ROW", rng.choice([0, 0, 6]))
    monkeypatch.setattr(box_index, "_CANDIDATES_PER_BOX", rng.choice([0, 0, 15]))
    monkeypatch.setattr(boxes, "_MOST_BOXES_FROM_LISTS", rng.choice([1, 20, 1 << 18]))
    monkeypatch.setattr(code_lookup, "_MOST_VALUES_UNFILTERED", rng.choice([0, 256]))
    monkeypatch.setattr(code_lookup, "_ALWAYS_DIRECT_SLOTS", rng.choice([0, 1 << 12]))
    monkeypatch.setattr(box_index, "_MOST_ROWS_BY_INTERVAL", rng.choice([0, 256]))
    monkeypatch.setattr(data_columns, "_MIN_ROWS_FOR_SUBSET", rng.choice([0, 1000]))
    monkeypatch.setattr(data_columns, "_SUBSET_FRACTION", rng.choice([0, 1, 4]))
    monkeypatch.setattr(ordinals, "_INSERTS_PER_SEARCH", rng.choice([0, 8, 1000]))
    monkeypatch.setattr(residual, "_ROWS_FOR_SCALARS", rng.choice([1, 64]))
