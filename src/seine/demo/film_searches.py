"""The demonstration of `seine demo search`: a script of 30 standing searches and the feeds that it reads."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from seine.demo.film_feeds import make_film_feeds, write_lines


def write_search_demo(folder: str | Path, *, films: int = 240, seed: int = 7) -> Path:
    """Write the made-up feeds and the script into a folder; returns the path of the script."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = make_film_feeds(films, films // 2, seed=seed)
    write_lines(made.films, folder / "film.jsonl")
    write_lines(made.people, folder / "person.jsonl")
    write_lines(made.credits, folder / "credit.jsonl")
    write_lines(made.news, folder / "news.jsonl")
    write_lines(made.studios, folder / "studio.jsonl")
    script = folder / "searches.sql"
    text = files("seine.demo").joinpath("searches.sql").read_text(encoding="utf-8")
    script.write_text(text, encoding="utf-8")
    return script
