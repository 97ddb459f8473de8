"""Thresholds of matching, made so small that a few rows take every path."""

from __future__ import annotations

import random

import pytest

from seine.evaluate import data_columns, ordinals
from seine.operators.match import box_index, boxes, code_lookup, prefilter, residual


def vary_thresholds(monkeypatch: pytest.MonkeyPatch, rng: random.Random) -> None:
    """Thresholds so small that a few rows take every way; none may change an answer."""
    monkeypatch.setattr(box_index, "_BLOCK", rng.choice([7, 100, 1 << 20]))
    monkeypatch.setattr(box_index, "_MOST_DIRECT_COMPARISONS", rng.choice([0, 0, 100, 1 << 15]))
    monkeypatch.setattr(box_index, "_CELL", rng.choice([0, 0, 1, 12]))
    monkeypatch.setattr(box_index, "_ROW", rng.choice([0, 0, 6]))
    monkeypatch.setattr(box_index, "_BOX", rng.choice([0, 0, 15]))
    monkeypatch.setattr(boxes, "_WIDEST", rng.choice([1, 20, 1 << 18]))
    monkeypatch.setattr(code_lookup, "_SMALL", rng.choice([0, 256]))
    monkeypatch.setattr(code_lookup, "_ADDRESSES", rng.choice([0, 1 << 12]))
    monkeypatch.setattr(prefilter, "_SMALL", rng.choice([0, 256]))
    monkeypatch.setattr(data_columns, "_SHORT", rng.choice([0, 1000]))
    monkeypatch.setattr(data_columns, "_PART", rng.choice([0, 1, 4]))
    monkeypatch.setattr(ordinals, "_PROBES", rng.choice([0, 8, 1000]))
    monkeypatch.setattr(residual, "_LONG", rng.choice([1, 64]))
