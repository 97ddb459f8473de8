"""Tables as Markdown, so that the output of a benchmark can be pasted into documentation."""

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
        """Append a row; it has one cell for each heading."""
        if len(cells) != len(self.rows[0]):
            raise ValueError(f"{len(cells)} cells under {len(self.rows[0])} headings")
        self.rows.append(cells)

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        heading, *rows = [
            _line([cell.ljust(w) for cell, w in zip(r, widths, strict=True)]) for r in self.rows
        ]
        return "\n".join([heading, _line(["-" * w for w in widths]), *rows])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
