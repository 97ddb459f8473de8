"""The indexes of boxes find what comparing every row with every box finds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT
from seine.evaluate.kernels.ordinals import VALUE_CODES
from seine.operators.match import box_index, code_lookup
from seine.operators.match.any_of import Staircase
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.boxes import BoxBound, Boxes, ComparedTerm
from seine.operators.match.code_lookup import CodeGroups
from tests.support.seeds import seed_range

TERMS = [ComparedTerm(Column(i, BIGINT), VALUE_CODES) for i in range(4)]


def random_boxes(rng: np.random.Generator, spread: int) -> Boxes:
    """Terms 0 and 1 may be points, 2 and 3 may have bounds; intervals are not empty."""
    count = int(rng.choice([1, 2, 30, 60]))
    equal = {term: rng.integers(0, 4, count) * spread for term in range(2) if rng.random() < 0.4}
    bounds = []
    for term in (2, 3):
        low, high = np.sort(rng.integers(0, 12, (2, count)), axis=0)
        if rng.random() < 0.6:
            bounds.append(BoxBound(term, False, low))
        if rng.random() < 0.6:
            bounds.append(BoxBound(term, True, ~high))
    return Boxes(TERMS, np.arange(count), equal, bounds)


def inside(boxes: Boxes, codes: list[np.ndarray], num_rows: int) -> np.ndarray:
    """Is row r in box b: a matrix by box and row."""
    cells = np.ones((len(boxes), num_rows), bool)
    for term, known in boxes.equal.items():
        cells &= known[:, None] == codes[term]
    for bound in boxes.bounds:
        cells &= bound.of(codes[bound.term]) >= bound.least[:, None]
    return cells


def test_indexes_find_what_comparing_all_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    hits: Counter[str] = Counter()
    for seed in seed_range(700):
        rng = np.random.default_rng(seed)
        spread = int(rng.choice([1, 10**12]))
        boxes = random_boxes(rng, spread)
        num_rows = int(rng.choice([1, 5, 60]))
        codes = [rng.integers(0, 5, num_rows) * spread for _ in range(2)]
        codes += [rng.integers(-1, 13, num_rows) for _ in range(2)]
        for name, default in (
            ("_MOST_DIRECT_COMPARISONS", 1 << 15),
            ("_CELLS_PER_CANDIDATE", 12),
            ("_CANDIDATES_PER_ROW", 6),
            ("_CANDIDATES_PER_BOX", 15),
        ):
            monkeypatch.setattr(box_index, name, int(rng.choice([0, 0, default])))
        monkeypatch.setattr(box_index, "_MOST_CELLS_AT_ONCE", int(rng.choice([1, 20, 1 << 20])))
        monkeypatch.setattr(box_index, "_SAMPLED_ROWS", int(rng.choice([4, 512])))
        monkeypatch.setattr(code_lookup, "_MOST_VALUES_UNFILTERED", int(rng.choice([0, 256])))
        groups = CodeGroups(list(boxes.equal.values()), len(boxes))
        cells = inside(boxes, codes, num_rows)
        pairs = [
            pair
            for piece in BoxIndex(boxes, groups).pairs(codes, num_rows)
            for pair in zip(*piece, strict=True)
        ]
        assert sorted((int(box), int(row)) for row, box in pairs) == list(
            zip(*map(list, np.nonzero(cells)), strict=True)
        )
        stairs = Staircase(boxes, groups)
        equal = [codes[term] for term in boxes.equal]
        bounded = [bound.of(codes[bound.term]) for bound in boxes.bounds]
        held, wanted = (
            stairs.holding(equal, bounded, num_rows).tolist(),
            np.flatnonzero(cells.any(axis=0)).tolist(),
        )
        assert held == wanted if stairs.is_exact else set(held) >= set(wanted), seed
        hits["cells"] += len(pairs)
        hits["exact"] += stairs.is_exact and 0 < len(wanted) < num_rows
        hits["grouped stairs"] += stairs.is_exact and groups.count > 1 and len(bounded) == 2
    assert hits["cells"] > 25000 and min(hits.values()) > 50, hits
