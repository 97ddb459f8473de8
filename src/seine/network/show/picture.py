"""The network as one self-contained page: an SVG by stages that zooms, with search and paths of queries.

The frame of the picture: HTML, style and script, which lie in files beside this module.

What is filled in stands between double @ signs: @@STYLE@@ and @@SCRIPT@@ here, the rest when a network is
drawn.

The boxes of the picture, placed by stages.

A join is drawn with its prefilters, an aggregate or set operator with its fans. Deliveries of one
input are drawn as one where they are many; in a large network all that does alike to the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from seine.errors import printable
from seine.network.show.kind_words import BoxContent
from seine.network.show.labels import NodeLine, States
from seine.network.show.words_of import words_of

MOST_LISTED = 200  # nodes that the panel describes for one box
MOST_CHARACTERS = 40  # of a line in a box
Templates = Mapping[str, Sequence[str]]  # the queries of each template of XSCL, which is in words


def draw(
    lines: list[NodeLine], headline: str, states: States | None = None, templates: Templates | None = None
) -> str:
    """A page that shows these lines; it fetches nothing, and every name in it is escaped."""
    boxes = make_boxes(lines)
    stages = place_boxes(boxes)
    names = list(dict.fromkeys(user for line in lines for user in line.users))
    number = {name: i for i, name in enumerate(names)}
    facts = {
        "queries": [printable(name) for name in names],
        "states": [[printable(text) for text in (states or {}).get(name, ())] for name in names],
        "templates": [
            [printable(text), [number[name] for name in users if name in number]]
            for text, users in (templates or {}).items()
        ],
        "boxes": [_facts(box, number) for box in boxes],
    }
    filling = {
        "HEADLINE": escape(headline),
        "SVG": _svg(boxes, stages),
        "DATA": _inert(json.dumps(facts, ensure_ascii=True, separators=(",", ":"))),
    }
    return "".join(filling.get(part, part) for part in page_template().split("@@"))


def _inert(data: str) -> str:
    """No "<" in the data: nothing in it can end the script element."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _facts(box: Box, number: dict[str, int]) -> dict[str, Any]:
    """What the page's script knows of a box.

    `users` is null if every query uses it; `own` has the users of each node of a pile.
    """
    listed = [*box.parts, *box.lines][:MOST_LISTED]
    users = [number[user] for user in box.users]
    return {
        "inputs": list(box.inputs),
        "title": box_title(box),
        "stage": box.stage,
        "nodes": [_node_texts(line) for line in listed],
        "own": [[number[user] for user in line.users] for line in listed] if len(box.lines) > 1 else None,
        "hidden": len(box.parts) + len(box.lines) - len(listed),
        "users": None if len(users) == len(number) else users,
        "reason": box.lines[0].reason if len(box.lines) == 1 else None,
    }


def _node_texts(line: NodeLine) -> list[str]:
    """A node in the panel: what it is, then what passes it."""
    head = f"#{line.node.id} {line.node.kind}: {line.text}"
    return [printable(text) for text in (head, *line.details)]


def box_title(box: Box) -> str:
    """What a box is: a node, or so many of a kind."""
    count = len(box.lines)
    return f"{box.kind} #{box.lines[0].node.id}" if count == 1 else f"{count} x {box.kind}"


def _svg(boxes: list[Box], stages: list[tuple[int, int]]) -> str:
    width = max((box.x for box in boxes), default=0) + BOX_WIDTH + MARGIN
    height = max((box.y for box in boxes), default=0) + BOX_HEIGHT + MARGIN
    heads = [_stage_head(stage, left, height) for stage, left in stages]
    edges = [_edge(boxes[i], box) for box in boxes for i in box.inputs]
    body = "".join([*heads, *edges, *map(_box, boxes)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="net" data-width="{width}" data-height="{height}" '
        f'role="img" aria-label="operator network"><g id="world">{body}</g></svg>'
    )


def _stage_head(stage: int, left: int, height: int) -> str:
    name = "as tuples arrive" if stage == 0 else f"stage {stage}"
    line = f'<line class="stage" x1="{left - 24}" y1="8" x2="{left - 24}" y2="{height - 8}"/>'
    return f'{line}<text class="stage" x="{left}" y="28">{name}</text>'


def _edge(source: Box, target: Box) -> str:
    x1, y1 = source.x + BOX_WIDTH, source.y + BOX_HEIGHT // 2
    x2, y2 = target.x, target.y + BOX_HEIGHT // 2
    bend = min(max(40, (x2 - x1) // 2), 120)
    path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    return f'<path class="edge" data-from="{source.number}" data-to="{target.number}" d="{path}"/>'


def _box(box: Box) -> str:
    users = len(box.users)
    badge = f'<text class="badge" x="{BOX_WIDTH - 10}" y="19">{users} queries</text>' if users > 1 else ""
    classes = f"box {box.kind}{' shared' if users > 1 else ''}"
    tint = words_of(box.lines[0].node).tint
    style = f' style="--tint: {tint}"' if tint else ""
    texts = "".join(
        f'<text x="10" y="{y}">{escape(cut_text(printable(text)))}</text>'
        for y, text in zip((37, 53), box_texts(box), strict=False)
    )
    stack = f'<rect class="pile" x="5" y="5" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
    return (
        f'<g class="{classes}"{style} data-box="{box.number}" '
        f'transform="translate({box.x} {box.y})" tabindex="0">'
        f"<title>{escape(printable(box.lines[0].text))}</title>{stack if len(box.lines) > 1 else ''}"
        f'<rect width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="kind" x="10" y="19">{escape(box_title(box))}</text>{badge}'
        f'<svg width="{BOX_WIDTH - 8}" height="{BOX_HEIGHT}">{texts}</svg></g>'
    )


def box_texts(box: Box) -> Sequence[str]:
    """The two lines of text in a box."""
    line = box.lines[0]
    part_details = [detail for part in box.parts for detail in part.details]
    content = BoxContent(line.text, line.details, part_details, box.users, len(box.lines) > 1)
    return words_of(line.node).box_lines(content)


def cut_text(text: str) -> str:
    """A text as long as a box is wide."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


@cache
def page_template() -> str:
    """The page, complete but for the network that it shows."""
    template = _read("page.html")
    return template.replace("@@STYLE@@", _read("page.css")).replace("@@SCRIPT@@", _read("page.js"))


def _read(name: str) -> str:
    return files("seine.network.show").joinpath(name).read_text(encoding="utf-8")


MOST_SINGLE_BOXES = 80
PILE_LEVELS = range(4)  # at each, nodes of a `pile_level` up to it are piled; until few boxes are left
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
    parts = {line.node.id: line for line in lines if words_of(line.node).drawn_with_reader}
    drawn = [line for line in lines if line.node.id not in parts]
    beneath = {line.node.id: _beneath(line, parts) for line in drawn}
    deliveries = Counter(beneath[line.node.id] for line in drawn if line.node.is_delivery)
    boxes: dict[Hashable, Box] = {}
    box_of: dict[int, int] = {}
    for line in drawn:
        node = line.node
        inputs = tuple(dict.fromkeys(box_of[i] for i in beneath[node.id]))
        many = node.is_delivery and deliveries[beneath[node.id]] > MOST_DELIVERIES
        pile_level = words_of(node).pile_level
        alike = many or (pile_level is not None and pile_level <= level)
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
