"""Demand-driven execution: the story of Figure 4.1, and random messages against flags computed anew."""

from __future__ import annotations

import random

import numpy as np
from benchmarks.keyword_meshes.demand_flags import DemandFlags
from benchmarks.keyword_meshes.full_mesh import full_mesh
from benchmarks.keyword_meshes.operator_rows import OperatorRows

from seine.algebra.arrays import BoolArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from tests.support.keyword_schemas import PAPER, ternary
from tests.support.paper_mesh import figure_3_8
from tests.support.seeds import seeds


class _Story:
    """The mesh of Figure 3.8, and sources that fill and dry by name."""

    def __init__(self) -> None:
        self.schema = ExpandedSchema(PAPER, 3)
        self.mesh, self.joins = figure_3_8(self.schema, full_mesh(self.schema, 5))
        self.flags = DemandFlags(self.mesh, self.schema.nodes)
        self.step = 0

    def _nodes(self, names: tuple[str, ...]) -> np.ndarray:
        all_names = [self.schema.name(node) for node in range(self.schema.nodes)]
        return np.array([all_names.index(name) for name in names])

    def _named(self, numbers: np.ndarray) -> list[str]:
        names = {number: name for name, number in self.joins.items()}
        return [names[number] for number in numbers.tolist()]

    def fill(self, *names: str) -> list[str]:
        self.step += 1
        return self._named(self.flags.fill(self._nodes(names)))

    def dry(self, *names: str) -> list[str]:
        self.step += 1
        return self._named(self.flags.dry(self._nodes(names), self.step))

    def running(self) -> list[str]:
        return [name for name, number in self.joins.items() if self.flags.running[number]]

    def parents(self, name: str) -> int:
        return int(self.flags.running_parents[self.joins[name]])


def test_the_story_of_section_4_1() -> None:
    story = _Story()
    started = story.fill("S{1}", "T{}", "V{2}", "T{1}", "U{3}", "U{2,3}", "V{2,3}", "T{2,3}")
    assert sorted(started) == story.running() == ["j1", "j2", "j3", "j4", "j5", "j6", "j7"]
    assert story.parents("j1") == 3
    assert story.dry("U{2,3}") == ["j5"] and story.parents("j1") == 2  # transitions 2 and 1
    assert story.dry("V{2,3}") == ["j6"] and story.parents("j1") == 1
    assert story.dry("T{1}") == ["j3", "j2", "j1"]  # transition 2, then 3 and 3
    assert story.running() == ["j4", "j7"]  # j4 runs, and finds its left input empty
    assert [int(story.flags.stopped_at[story.joins[name]]) for name in ("j5", "j6", "j3", "j1")] == [
        2,
        3,
        4,
        4,
    ]
    assert story.fill("T{1}") == ["j3", "j2", "j1"]  # transition 9, then 10 and 10
    assert story.running() == ["j1", "j2", "j3", "j4", "j7"]


def test_a_join_without_right_input_wakes_nobody() -> None:
    story = _Story()
    assert story.fill("V{2}", "T{1}", "U{3}") == ["j4", "j3", "j2"]
    assert story.parents("j1") == 1 and story.running() == ["j2", "j3", "j4"]
    assert story.dry("U{3}") == ["j4", "j3", "j2"]  # d goes off in j1, which slept
    assert story.parents("j1") == 0
    assert story.fill("T{}") == []  # r alone: nobody consumes


def _recomputed(mesh: OperatorRows, filled: BoolArray) -> BoolArray:
    running = np.zeros(len(mesh), bool)
    for size in range(int(mesh.size.max()), 1, -1):
        for join in np.flatnonzero(mesh.size == size).tolist():
            wanted = mesh.complete[join] or running[mesh.left == join].any()
            running[join] = wanted and filled[mesh.node[join]]
    return running


@seeds(4)
def test_messages_keep_the_flags(seed: int) -> None:
    draw = random.Random(seed)
    schema = ExpandedSchema(ternary(5), 2)
    mesh = full_mesh(schema, 4)
    flags = DemandFlags(mesh, schema.nodes)
    filled = np.zeros(schema.nodes, bool)
    turned = 0
    for step in range(1, 30):
        chosen = np.array(sorted(draw.sample(range(schema.nodes), draw.randint(1, 5))))
        on, off = chosen[~filled[chosen]], chosen[filled[chosen]]
        turned += len(flags.fill(on))
        filled[on] = True
        assert (flags.running == _recomputed(mesh, filled)).all()
        turned += len(flags.dry(off, step))
        filled[off] = False
        assert (flags.running == _recomputed(mesh, filled)).all()
        joins = np.flatnonzero(mesh.left >= 0)
        parents = np.bincount(mesh.left[joins[flags.running[joins]]], minlength=len(mesh))
        assert (flags.running_parents == parents).all()
    assert turned > 100
