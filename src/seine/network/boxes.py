"""The boxes of the picture: a node each, or in a large network a shape each, placed by stages."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from seine.network.lines import Line

BOX_WIDTH, BOX_HEIGHT = 200, 46
COLUMN_STEP, ROW_STEP = 260, 60
MARGIN, TOP = 24, 48


@dataclass
class Box:
    """Nodes drawn as one: a single node, or all nodes of one shape over the same boxes."""

    number: int
    inputs: tuple[int, ...]
    lines: list[Line] = field(default_factory=list)
    x: int = 0
    y: int = 0

    @property
    def kind(self) -> str:
        return self.lines[0].node.kind

    @property
    def stage(self) -> int:
        return self.lines[0].node.stage

    @property
    def users(self) -> list[str]:
        return list(dict.fromkeys(user for line in self.lines for user in line.users))


def make_boxes(lines: list[Line]) -> list[Box]:
    """Boxes in the order of the lines, which is inputs first."""
    boxes: dict[Hashable, Box] = {}
    box_of: dict[int, int] = {}
    for line in lines:
        inputs = tuple(dict.fromkeys(box_of[i] for i in line.node.inputs))
        box = boxes.setdefault(line.node.id, Box(len(boxes), inputs))
        box.lines.append(line)
        box_of[line.node.id] = box.number
    return list(boxes.values())


def place_boxes(boxes: list[Box]) -> list[tuple[int, int]]:
    """Give each box its place, streams left, queries right; returns (stage, left edge) for each stage."""
    depth = _depth_within_stage(boxes)
    columns = sorted({_column_key(box, depth) for box in boxes})
    number = {key: position for position, key in enumerate(columns)}
    by_column: list[list[Box]] = [[] for _ in columns]
    for box in boxes:
        column = number[_column_key(box, depth)]
        box.x = MARGIN + column * COLUMN_STEP
        by_column[column].append(box)
    for column_boxes in by_column:
        _stack(column_boxes, {box.number: [boxes[i].y for i in box.inputs] for box in column_boxes})
    _center_streams(by_column[0] if by_column else [], boxes)
    lefts: dict[int, int] = {}
    for (last, stage, _), position in number.items():
        if not last:
            lefts.setdefault(stage, MARGIN + position * COLUMN_STEP)
    return sorted(lefts.items())


def _column_key(box: Box, depth: list[int]) -> tuple[bool, int, int]:
    if box.kind == "deliver":
        return (True, 0, 0)
    return (False, box.stage, depth[box.number])


def _depth_within_stage(boxes: list[Box]) -> list[int]:
    """How many boxes of its own stage come before each box, at most."""
    depth: list[int] = []
    for box in boxes:
        own = (depth[i] + 1 for i in box.inputs if boxes[i].stage == box.stage)
        depth.append(max(own, default=0))
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
    """Put the boxes of a column near the middle of their neighbours, without overlap."""
    wishes = {number: sum(ys) / len(ys) if ys else 0.0 for number, ys in neighbours.items()}
    bottom = TOP
    for box in sorted(column, key=lambda box: (wishes[box.number], box.number)):
        box.y = max(bottom, round(wishes[box.number]))
        bottom = box.y + ROW_STEP
