"""The demonstration `feeds`: 10,000 subscriptions to made-up news, four of which are followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seine.demo.news_feeds import AUTHORS, CATEGORIES, CHANNELS, draw_channels, make_news

_STREAM = """\
CREATE STREAM news (item XML, ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL '12' HOUR
  FROM 'feeds' FORMAT XML WITH (feed = 'true');
"""
# name -> what a reader wants to hear of, and the subscription
FOLLOWED = {
    "ada": (
        "what the Harbour Gazette has first and others post again within six hours",
        "news/item[source='Harbour Gazette'][title->t] FOLLOWED BY{t=u, INTERVAL '6' HOUR} "
        "news/item[title->u]",
    ),
    "bruno": (
        "who answers Bruno Keller within six hours",
        "news/item[author='Bruno Keller'][link->l] FOLLOWED BY{l=r, INTERVAL '6' HOUR} news/item[related->r]",
    ),
    "chen": (
        "authors who write twice about energy within two hours",
        "news/item[category='energy'][author->a] FOLLOWED BY{a=b, INTERVAL '2' HOUR} "
        "news/item[category='energy'][author->b]",
    ),
    "dora": (
        "answers to anybody that another channel then posts again",
        "news/item[link->l] FOLLOWED BY{l=r, INTERVAL '6' HOUR} news/item[related->r][title->t] "
        "FOLLOWED BY{t=u, INTERVAL '6' HOUR} news/item[title->u]",
    ),
}


def write_news(folder: str | Path, *, items: int = 8_000, subscriptions: int = 10_000, seed: int = 7) -> Path:
    """Write feeds, a file an hour, and subscriptions into a folder; returns the path of the script."""
    folder = Path(folder)
    feeds = folder / "feeds"
    feeds.mkdir(parents=True, exist_ok=True)
    for hour, text in make_news(items, seed).feeds():
        feeds.joinpath(f"{hour:02}.xml").write_text(text, encoding="utf-8")
    script = folder / "subscriptions.sql"
    texts = {name: text for name, (_, text) in FOLLOWED.items()}
    texts |= {f"s{number}": text for number, text in enumerate(_others(subscriptions - len(texts), seed))}
    queries = "".join(f"CREATE QUERY {name} AS XSCL $$ {text} $$;\n" for name, text in texts.items())
    script.write_text(_STREAM + queries, encoding="utf-8")
    return script


def _others(count: int, seed: int) -> Iterator[str]:
    """Subscriptions of other readers: three kinds, each with channels, authors and categories of its own."""
    draw = np.random.default_rng(seed)
    channels = np.stack([draw_channels(draw, count) for _ in range(2)], axis=1)
    authors, categories = draw.integers(0, len(AUTHORS), count), draw.integers(0, len(CATEGORIES), count)
    for number in range(count):
        hours = 1 + number % 6
        first, second = (CHANNELS[channel] for channel in channels[number])
        category, author = CATEGORIES[categories[number]], AUTHORS[authors[number]]
        yield (
            f"news/item[source='{first}'][title->t] FOLLOWED BY{{t=u, INTERVAL '{hours}' HOUR}} "
            f"news/item[source='{second}'][title->u]",
            f"news/item[source='{first}'][link->l] FOLLOWED BY{{l=r, INTERVAL '{hours}' HOUR}} "
            f"news/item[category='{category}'][related->r]",
            f"news/item[author='{author}'][title->t][category->c] "
            f"FOLLOWED BY{{t=u AND c=d, INTERVAL '{hours}' HOUR}} news/item[title->u][category->d]",
        )[number % 3]
