"""Trees that searches reported, drawn on one HTML page: a box a tuple, a line an edge, the terms beneath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from seine.demo.found_tree import FoundTuple

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
