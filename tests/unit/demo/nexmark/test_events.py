"""Nexmark's events have its distributions, and are the same for the same seed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.demo.nexmark.events import FIRST_ID, make_nexmark

MADE = make_nexmark(100_000, seed=3)


def column(table: pa.Table, name: str) -> AnyArray:
    values = table[name].to_numpy()
    return values.astype(np.int64) if values.dtype.kind == "M" else values


def test_two_six_and_92_in_a_hundred_in_the_order_of_time() -> None:
    assert [table.num_rows for table in MADE.tables().values()] == [2_000, 6_000, 92_000]
    for table in MADE.tables().values():
        assert (np.diff(column(table, "date_time")) >= 0).all()


def test_the_same_seed_makes_the_same_events() -> None:
    assert make_nexmark(2_000, seed=3) == make_nexmark(2_000, seed=3)
    assert make_nexmark(2_000, seed=3).bid != make_nexmark(2_000, seed=4).bid


def test_ids_count_up_and_bids_refer_to_recent_ones() -> None:
    for table in (MADE.person, MADE.auction):
        assert column(table, "id").tolist() == [*range(FIRST_ID, FIRST_ID + table.num_rows)]
    begun = np.searchsorted(column(MADE.auction, "date_time"), column(MADE.bid, "date_time"), side="right")
    last = FIRST_ID + begun - 1
    assert (column(MADE.bid, "auction") <= last + 10).all()
    assert (column(MADE.bid, "auction") >= last - 200).all()


def test_half_of_the_bids_are_for_hot_auctions_and_three_in_four_by_hot_bidders() -> None:
    auctions, bidders = column(MADE.bid, "auction") - FIRST_ID, column(MADE.bid, "bidder") - FIRST_ID
    assert abs((auctions % 100 == 0).mean() - 0.5) < 0.02
    assert abs((bidders % 100 == 1).mean() - 0.75) < 0.02
    assert abs((column(MADE.auction, "seller") % 100 == 0).mean() - 0.75) < 0.02


def test_prices_are_even_in_their_logarithm() -> None:
    digits = np.log10(column(MADE.bid, "price") / 100)
    assert np.histogram(digits, bins=6, range=(0, 6))[0].min() > 92_000 / 6 * 0.95


def test_auctions_expire_when_about_a_hundred_others_have_begun() -> None:
    lives = column(MADE.auction, "expires") - column(MADE.auction, "date_time")
    assert lives.min() >= 1 and abs(lives.mean() / 1_667 - 1) < 0.05


def test_half_of_the_bids_come_by_four_channels_and_most_others_have_an_id() -> None:
    channels, urls = column(MADE.bid, "channel"), column(MADE.bid, "url")
    hot = np.isin(channels, ["Google", "Facebook", "Baidu", "Apple"])
    marked = np.array(["channel_id=" in url for url in urls])
    assert abs(hot.mean() - 0.5) < 0.02 and not marked[hot].any()
    assert abs(marked[~hot].mean() - 0.9) < 0.02
    assert {url.count("/") for url in urls} == {6}
