"""Texts that are compared as a whole; `--update` writes them anew."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("golden_texts")


def check_golden(name: str, text: str, update: bool) -> None:
    """The text is that of the file, or becomes it."""
    path = FOLDER / name
    if update:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
