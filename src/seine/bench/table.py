"""A small table that prints as Markdown, so that a benchmark's output is its documentation."""

from __future__ import annotations


class Table:
    """Rows of text under headings.

    >>> table = Table("engine", "rows/s")
    >>> table.add("seine", "280,000")
    >>> print(table)
    | engine | rows/s  |
    | ------ | ------- |
    | seine  | 280,000 |
    """

    def __init__(self, *headings: str) -> None:
        self.rows: list[tuple[str, ...]] = [headings]

    def add(self, *cells: str) -> None:
        self.rows.append(cells)

    def __str__(self) -> str:
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.rows[0]))]
        lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in self.rows]
        lines.insert(1, "| " + " | ".join("-" * w for w in widths) + " |")
        return "\n".join(lines)
