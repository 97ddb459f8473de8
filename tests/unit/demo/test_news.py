"""The demonstration `feeds`: records are those that the columns of the made-up items imply."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from email.utils import parsedate_to_datetime
from itertools import combinations
from pathlib import Path

import pytest
from lxml import etree

from seine.demo.news import (
    AUTHORS,
    CATEGORIES,
    CHANNELS,
    FOLLOWED,
    START,
    NewsItems,
    make_news,
    sentence,
    write_news,
)
from seine.document_templates.templates_of_plans import queries_by_template
from seine.frontends.script.parser import read_script
from seine.run_local import run_local

ITEMS, SUBSCRIPTIONS = 2_500, 40
HOUR = 3_600


def _pairs(news: NewsItems, hours: int) -> list[tuple[int, int]]:
    """Items that follow one another within some hours."""
    times = news.seconds.tolist()
    return [(a, b) for a, b in combinations(range(len(times)), 2) if 0 < times[b] - times[a] <= hours * HOUR]


def _expected(news: NewsItems) -> Counter[str]:
    """How many records each followed subscription has."""
    near = _pairs(news, 6)
    again = [(one, other) for one, other in near if news.title[one] == news.title[other]]
    answers = [(one, other) for one, other in near if news.answered[other] == one]
    gazette, bruno, energy = (
        CHANNELS.index("Harbour Gazette"),
        AUTHORS.index("Bruno Keller"),
        CATEGORIES.index("energy"),
    )
    twice = [
        (one, other)
        for one, other in _pairs(news, 2)
        if news.category[one] == news.category[other] == energy and news.author[one] == news.author[other]
    ]
    return Counter(
        ada=sum(news.channel[one] == gazette for one, _ in again),
        bruno=sum(news.author[one] == bruno for one, _ in answers),
        chen=len(twice),
        dora=sum(answer == first for _, answer in answers for first, _ in again),
    )


def test_records_are_those_that_were_planted(tmp_path: Path) -> None:
    script = write_news(tmp_path, items=ITEMS, subscriptions=SUBSCRIPTIONS)
    news = make_news(ITEMS)
    records = run_local(str(script), batch_rows=500).records
    counts = Counter(record["query"] for record in records)
    expected = _expected(news)
    assert {name: counts[name] for name in FOLLOWED} == dict(expected)
    assert expected["ada"] and expected["chen"] and expected["dora"]
    for record in records:
        if record["query"] in FOLLOWED:
            assert re.match(rf"1[45] Nov \d\d:\d\d  {record['query']} +\S.* [\w(“]", sentence(record))


def test_subscriptions_are_many_and_templates_few(tmp_path: Path) -> None:
    script = read_script(str(write_news(tmp_path, items=10)))
    plans = {name: query.plan for name, query in script.declarations.queries.items()}
    assert len(plans) == 10_000
    assert len({query.text for query in script.declarations.queries.values()}) > 5_000
    assert [len(names) for names in queries_by_template(plans).values()] == [6_668, 3_332]


def test_items_are_documents() -> None:
    news = make_news(500)
    assert len(CHANNELS) == len(set(CHANNELS)) == 400
    titles = Counter()
    for item in range(len(news)):
        root = etree.fromstring(news.text(item))
        titles[root.findtext("title")] += 1
        assert root.findtext("source") == CHANNELS[news.channel[item]]
        assert (root.find("related") is not None) == (news.answered[item] >= 0)
        assert root.findtext("pubDate") == news.time(item)
        assert parsedate_to_datetime(news.time(item)) == START + timedelta(seconds=int(news.seconds[item]))
    assert max(titles.values()) > 1 and len(titles) == 500 - (news.again >= 0).sum()


def test_titles_run_out() -> None:
    with pytest.raises(ValueError, match="8000 different titles"):
        make_news(8_001)
