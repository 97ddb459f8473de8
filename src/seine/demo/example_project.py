"""Writes the example project: a script, its input, tests of its queries, settings, and what to type."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from seine.errors import SeineError

# file of the package -> its name in the project
_FILES = {
    "alerts.sql": "alerts.sql",
    "transfer.jsonl": "transfer.jsonl",
    "test_alerts.txt": "test_alerts.py",
    "seine.toml": "seine.toml",
    "README.md": "README.md",
}


def write_example_project(folder: Path) -> list[Path]:
    """Write all its files into a folder, which is made if need be; none that is there is written over."""
    paths = {folder / name: files("seine.demo.project").joinpath(source) for source, name in _FILES.items()}
    for path in paths:
        if path.exists():
            raise SeineError(f"'{path}' is there already", hint="name a new folder, or one without it")
    folder.mkdir(parents=True, exist_ok=True)
    for path, source in paths.items():
        path.write_bytes(source.read_bytes())
    return list(paths)
