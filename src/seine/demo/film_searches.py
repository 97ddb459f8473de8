"""The demonstration of `seine demo search`: a script of 30 standing searches and the feeds that it reads.

Made-up feeds of films, people, credits and news, and the studios behind them.

A film is announced, its credits come in over the next days, and news of films and people all the time. Who
works with whom and what is written about whom is by chance; a few get most of it, as in life.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any


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


FIRST_DAY = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
_GIVEN = ("Ada", "Ivo", "Mira", "Jonas", "Zoë", "Kofi", "Lena", "Tariq", "Ines", "Oskar", "Wanda", "Hugo")
_SURNAMES = (
    *("Moreau", "Strand", "Okafor", "Lindqvist", "Varga", "Castellan", "Brandt", "Ishikawa", "Delacroix"),
    *("Novak", "Quill", "Ferreira", "Adeyemi", "Sorensen", "Petrov", "Marlowe", "Silva", "Kowalski", "Tan"),
)
_TOWNS = ("Lisbon", "Oslo", "Lagos", "Kyoto", "Trieste", "Marseille", "Gdansk", "Porto", "Accra", "Vienna")
_MOODS = ("Silent", "Crimson", "Last", "Hollow", "Golden", "Midnight", "Broken", "Distant", "Winter")
_THINGS = ("Harbour", "Orchard", "Witness", "Mirror", "Kingdom", "Station", "Letter", "Tide", "Garden")
_ROLES = ("director", "actor", "actor", "actor", "writer", "camera", "music")
_EVENTS = (
    "wins prize at festival in {town}",
    "praised by critics in {town}",
    "delayed after storm in {town}",
    "lawsuit over contract settled in {town}",
    "rumour of sequel denied",
    "premiere in {town} sold out",
    "scandal: budget vanished in {town}",
    "returns to {town} for new scenes",
    "divorce becomes public",
    "scores unexpected box office record",
)
_STUDIOS = ("Northlight", "Caravel", "Blue Door", "Meridian", "Tinfoil")


@dataclass
class FilmFeeds:
    """The lines of each feed in order of time, and the studios."""

    films: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    credits: list[dict[str, Any]] = field(default_factory=list)
    news: list[dict[str, Any]] = field(default_factory=list)
    studios: list[dict[str, Any]] = field(default_factory=list)


def make_film_feeds(films: int = 240, people: int = 120, *, days: int = 90, seed: int = 7) -> FilmFeeds:
    """Feeds of so many films and people; the same for the same arguments.

    >>> made = make_film_feeds(20, 10, seed=1)
    >>> len(made.films), len(made.people) >= 10, made.films == sorted(made.films, key=lambda film: film["ts"])
    (20, True, True)
    """
    chance = Random(seed)
    made = FilmFeeds(studios=[{"name": name, "town": chance.choice(_TOWNS)} for name in _STUDIOS])
    for number in range(1, people + 1):
        name = f"{chance.choice(_GIVEN)} {chance.choice(_SURNAMES)}"
        for day in range(chance.randrange(30), days, 30):  # agencies renew their entries
            row = {"person": number, "name": name, "town": chance.choice(_TOWNS)}
            made.people.append(row | _at(chance, day))
    for number in range(1, films + 1):
        _announce(made, chance, number, people, chance.randrange(days))
    for number in range(1, 4 * films + 1):
        made.news.append(_news(chance, number, films, people) | _at(chance, chance.randrange(days)))
    for feed in (made.films, made.people, made.credits, made.news):
        feed.sort(key=lambda row: row["ts"])
    return made


def _announce(made: FilmFeeds, chance: Random, number: int, people: int, day: int) -> None:
    """A film, and its credits in the days after."""
    title = f"{chance.choice(_MOODS)} {chance.choice(_THINGS)}"
    sequel = chance.randint(1, number - 1) if number > 1 and chance.random() < 0.1 else None
    row = {"film": number, "title": title, "studio": chance.choice(_STUDIOS), "sequel_of": sequel}
    made.films.append(row | _at(chance, day))
    for role in _ROLES[: chance.randint(2, len(_ROLES))]:
        credit = {"film": number, "person": _favoured(chance, people), "role": role}
        made.credits.append(credit | _at(chance, day + chance.randrange(6)))


def _news(chance: Random, number: int, films: int, people: int) -> dict[str, Any]:
    headline = chance.choice(_EVENTS).format(town=chance.choice(_TOWNS))
    about_film = chance.random() < 0.6
    return {
        "news": number,
        "headline": headline[0].upper() + headline[1:],
        "film": _favoured(chance, films) if about_film else None,
        "person": None if about_film else _favoured(chance, people),
    }


def _favoured(chance: Random, most: int) -> int:
    """A number from 1 on, small ones more often."""
    return 1 + int(most * chance.random() ** 2)


def _at(chance: Random, day: int) -> dict[str, str]:
    moment = FIRST_DAY + dt.timedelta(days=day, seconds=chance.randrange(86_400))
    return {"ts": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def write_lines(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """One JSON object a line; what is not known is left out."""
    known: Sequence[dict[str, Any]] = [
        {name: value for name, value in row.items() if value is not None} for row in rows
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in known), encoding="utf-8")
