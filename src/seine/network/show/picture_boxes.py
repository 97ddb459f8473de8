"""The boxes of the picture, placed by stages.

A join is drawn with its prefilters, an aggregate or set operator with its fans. Deliveries of one
input are drawn as one where they are many; in a large network all that does alike to the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from seine.network.show.labels import NodeLine

MOST_SINGLE_BOXES = 80
PILE_LEVELS = range(4)  # at each, nodes of `Node.pile_level` up to it are piled; until few boxes are left
MOST_DELIVERIES = 6  # of one input that have boxes of their own
BOX_WIDTH, BOX_HEIGHT = 230, 62
COLUMN_STEP, ROW_STEP = 290, 78
MARGIN, TOP = 24, 56


@dataclass
class Box:
    """One box of the picture: `lines` are nodes that do alike, `parts` the prefilters or fans before them."""

    number: int
    inputs: tuple[int, ...]
    lines: list[NodeLine] = field(default_factory=list)
    parts: list[NodeLine] = field(default_factory=list)
    x: int = 0
    y: int = 0

    @property
    def kind(self) -> str:
        return self.lines[0].node.kind

    @property
    def is_delivery(self) -> bool:
        return self.lines[0].node.is_delivery

    @property
    def stage(self) -> int:
        return self.lines[0].node.stage

    @property
    def users(self) -> list[str]:
        return list(dict.fromkeys(user for line in self.lines for user in line.users))


def make_boxes(lines: list[NodeLine]) -> list[Box]:
    """Boxes in the order of the lines, which is inputs first; the fewest piles that leave it legible."""
    boxes: list[Box] = []
    for level in PILE_LEVELS:
        boxes = _piled(lines, level)
        if len(boxes) <= MOST_SINGLE_BOXES:
            break
    return boxes


def _piled(lines: list[NodeLine], level: int) -> list[Box]:
    """Boxes in which nodes of the kinds up to a level that read the same are drawn as one."""
    parts = {line.node.id: line for line in lines if line.node.drawn_with_reader}
    drawn = [line for line in lines if line.node.id not in parts]
    beneath = {line.node.id: _beneath(line, parts) for line in drawn}
    deliveries = Counter(beneath[line.node.id] for line in drawn if line.node.is_delivery)
    boxes: dict[Hashable, Box] = {}
    box_of: dict[int, int] = {}
    for line in drawn:
        node = line.node
        inputs = tuple(dict.fromkeys(box_of[i] for i in beneath[node.id]))
        many = node.is_delivery and deliveries[beneath[node.id]] > MOST_DELIVERIES
        alike = many or (node.pile_level is not None and node.pile_level <= level)
        key: Hashable = (node.kind, node.stage, inputs) if alike else node.id
        box = boxes.setdefault(key, Box(len(boxes), inputs))
        box.lines.append(line)
        box.parts += [parts[i] for i in node.inputs if i in parts]
        box_of[node.id] = box.number
    return list(boxes.values())


def _beneath(line: NodeLine, parts: dict[int, NodeLine]) -> tuple[int, ...]:
    """The nodes whose rows arrive, prefilters and fans apart."""
    return tuple(parts[i].node.inputs[0] if i in parts else i for i in line.node.inputs)


def place_boxes(boxes: list[Box]) -> list[tuple[int, int]]:
    """Give each box its place, streams left; returns (stage, left edge) for each stage."""
    depth = _depth_within_stage(boxes)
    columns = sorted({(box.stage, depth[box.number]) for box in boxes})
    number = {key: position for position, key in enumerate(columns)}
    by_column: list[list[Box]] = [[] for _ in columns]
    for box in boxes:
        column = number[box.stage, depth[box.number]]
        box.x = MARGIN + column * COLUMN_STEP
        by_column[column].append(box)
    for column_boxes in by_column:
        _stack(column_boxes, {box.number: [boxes[i].y for i in box.inputs] for box in column_boxes})
    _center_streams(by_column[0] if by_column else [], boxes)
    lefts: dict[int, int] = {}
    for (stage, _), position in number.items():
        lefts.setdefault(stage, MARGIN + position * COLUMN_STEP)
    return sorted(lefts.items())


def _depth_within_stage(boxes: list[Box]) -> list[int]:
    """How many boxes of its own stage come before each box, at most."""
    depth: list[int] = []
    for box in boxes:
        depths = (depth[i] + 1 for i in box.inputs if boxes[i].stage == box.stage)
        depth.append(max(depths, default=0))
    return depth


def _center_streams(streams: list[Box], boxes: list[Box]) -> None:
    """Move the first column, which has no inputs to follow, to the middle of what reads it."""
    readers: dict[int, list[int]] = {box.number: [] for box in streams}
    for box in boxes:
        for number in box.inputs:
            if number in readers:
                readers[number].append(box.y)
    _stack(streams, readers)


def _stack(column: list[Box], neighbours: dict[int, list[int]]) -> None:
    """Put the boxes of a column near the middle of their neighbours, deliveries last, without overlap."""
    wishes = {number: sum(ys) / len(ys) if ys else 0.0 for number, ys in neighbours.items()}
    bottom = TOP
    for box in sorted(column, key=lambda box: (wishes[box.number], box.is_delivery, box.number)):
        box.y = max(bottom, round(wishes[box.number]))
        bottom = box.y + ROW_STEP
