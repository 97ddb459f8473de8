"""Trees that searches reported, drawn on one HTML page: a box a tuple, a line an edge, the terms beneath."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_BOX_WIDTH, _BOX_HEIGHT, _GAP_X, _GAP_Y = 190, 58, 34, 16
_MOST_LETTERS = 27  # of a line in a box
_COLOURS = ("#1971c2", "#2f9e44", "#e8590c", "#9c36b5", "#c2255c", "#0c8599")
_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2rem auto; padding: 0 1rem }
h2 { margin: 2.2rem 0 .2rem; font-size: 1.15rem } p { margin: .2rem 0 .8rem }
code { background: #f1f3f5; padding: .1em .3em } figure { margin: .8rem 0; overflow-x: auto }
figcaption { color: #868e96; font-size: .85rem }
svg text { font: 12px system-ui, sans-serif } .table { fill: #868e96 } .term { font-weight: 600 }
"""


@dataclass(frozen=True)
class SearchResults:
    """A search: its text, how many records it has, and the trees that are shown, each with its life."""

    text: str
    records: int
    trees: Sequence[tuple[str, FoundTuple]]


def tree_page(title: str, searches: Mapping[str, SearchResults]) -> str:
    """A page with a section for each search."""
    colours = {table: _COLOURS[i % len(_COLOURS)] for i, table in enumerate(_tables(searches))}
    sections = [_section(name, one, colours) for name, one in searches.items()]
    head = f'<!doctype html>\n<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return "\n".join([head, f"<h1>{escape(title)}</h1>", *sections, ""])


def _tables(searches: Mapping[str, SearchResults]) -> list[str]:
    trees = (tree for one in searches.values() for _, tree in one.trees)
    return sorted({node.table for tree in trees for _, node in tree.walk()})


def _section(name: str, results: SearchResults, colours: Mapping[str, str]) -> str:
    count = f"{results.records:,} record{'' if results.records == 1 else 's'}"
    figures = [
        f"<figure>{_drawing(tree, colours)}<figcaption>{escape(life)}</figcaption></figure>"
        for life, tree in results.trees
    ]
    return f"<h2>{escape(name)}</h2><p><code>{escape(results.text)}</code> &middot; {count}</p>" + "".join(
        figures
    )


def _drawing(tree: FoundTuple, colours: Mapping[str, str]) -> str:
    """A tree as SVG, from left to right."""
    marks: list[str] = []

    def place(node: FoundTuple, depth: int, row: float) -> tuple[float, float]:
        """Draw a tuple and what is below it from a row on; gives its middle, and the next free row."""
        middles, following = [], row
        for child in node.below:
            middle, following = place(child, depth + 1, following)
            middles.append(middle)
        middle = sum(middles) / len(middles) if middles else row
        x = depth * (_BOX_WIDTH + _GAP_X)
        marks.extend(_line(x + _BOX_WIDTH, middle, x + _BOX_WIDTH + _GAP_X, end) for end in middles)
        marks.append(_box(node, x, middle, colours[node.table]))
        return middle, max(following, row + 1)

    _, rows = place(tree, 0, 0)
    depth = max(depth for depth, _ in tree.walk()) + 1
    width, height = depth * (_BOX_WIDTH + _GAP_X), rows * (_BOX_HEIGHT + _GAP_Y)
    return f'<svg width="{width}" height="{height:.0f}" role="img">{"".join(marks)}</svg>'


def _line(x: float, row: float, end: float, end_row: float) -> str:
    y, end_y = (one * (_BOX_HEIGHT + _GAP_Y) + _BOX_HEIGHT / 2 for one in (row, end_row))
    return f'<line x1="{x}" y1="{y:.0f}" x2="{end}" y2="{end_y:.0f}" stroke="#adb5bd" stroke-width="2"/>'


def _box(node: FoundTuple, x: float, row: float, colour: str) -> str:
    y = row * (_BOX_HEIGHT + _GAP_Y)
    text = node.text if len(node.text) <= _MOST_LETTERS else node.text[: _MOST_LETTERS - 1] + "…"
    fill = "#f8f9fa" if node.terms else "#ffffff"
    lines = (("table", node.table, 16), ("", text, 33), ("term", ", ".join(node.terms), 50))
    texts = [
        f'<text class="{kind}" x="{x + 8}" y="{y + down:.0f}"{_tint(kind, colour)}>{escape(line)}</text>'
        for kind, line, down in lines
        if line
    ]
    outline = f'<rect x="{x}" y="{y:.0f}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="{fill}"'
    return f'{outline} stroke="{colour}"><title>{escape(node.text)}</title></rect>{"".join(texts)}'


def _tint(kind: str, colour: str) -> str:
    return f' fill="{colour}"' if kind == "term" else ""


@dataclass(frozen=True)
class FoundTuple:
    """A tuple of a tree: its table, what a person reads of it, and the terms that it contains."""

    table: str
    text: str
    terms: tuple[str, ...]
    below: tuple[FoundTuple, ...]

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FoundTuple]]:
        """It and what is below it, each with its depth."""
        yield depth, self
        for child in self.below:
            yield from child.walk(depth + 1)


def found_tree(row: Mapping[str, Any]) -> FoundTuple:
    """The tree of a record's row, seen from the end at which its first term is.

    >>> tree = found_tree({"tuples": [{"stream": "film", "row": {"id": 7, "title": "Silent Harbour"}},
    ...                               {"stream": "news", "row": {"headline": "Prize", "film": 7}}],
    ...                    "edges": [[0, 1]], "matches": [["harbour"], ["prize"]]})
    >>> [(depth, one.table, one.text, one.terms) for depth, one in tree.walk()]
    [(0, 'film', 'Silent Harbour', ('harbour',)), (1, 'news', 'Prize', ('prize',))]
    """
    near: dict[int, list[int]] = {number: [] for number in range(len(row["tuples"]))}
    for left, right in row["edges"]:
        near[left].append(right)
        near[right].append(left)

    def seen_from(number: int, parent: int | None) -> FoundTuple:
        shown = row["tuples"][number]
        below = (seen_from(other, number) for other in sorted(near[number]) if other != parent)
        return FoundTuple(shown["stream"], _words(shown["row"]), tuple(row["matches"][number]), tuple(below))

    ends = [number for number, others in near.items() if len(others) <= 1]
    return seen_from(min(ends, key=lambda number: (not row["matches"][number], number)), None)


def _words(row: Mapping[str, Any]) -> str:
    """What a person reads of a tuple: its texts, without its keys and its time."""
    return ", ".join(value for name, value in row.items() if isinstance(value, str) and name != "ts")


def tree_lines(tree: FoundTuple, width: int = 100) -> list[str]:
    """A tree as lines of text, with the terms at the right of the tuples that contain them.

    >>> actor = FoundTuple("person", "Ivo Strand", ("strand",), ())
    >>> for line in tree_lines(FoundTuple("film", "Silent Harbour", ("harbour",), (actor, actor)), 40):
    ...     print(line)
    film  Silent Harbour          <- harbour
    ├─ person  Ivo Strand          <- strand
    └─ person  Ivo Strand          <- strand
    """
    lines = []
    for left, one in _branches(tree, "", ""):
        right = f"<- {', '.join(one.terms)}" if one.terms else ""
        room = max(width - len(right) - 1, 0)
        lines.append(f"{left[:room]:<{room}} {right}".rstrip())
    return lines


def _branches(node: FoundTuple, front: str, below: str) -> Iterator[tuple[str, FoundTuple]]:
    """A tuple and those below it, each with its text behind the lines that lead to it."""
    yield f"{front}{node.table}  {node.text}", node
    for number, child in enumerate(node.below, 1):
        corner, line = ("└─ ", "   ") if number == len(node.below) else ("├─ ", "│  ")
        yield from _branches(child, below + corner, below + line)
