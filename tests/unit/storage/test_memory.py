"""A store in memory."""

from __future__ import annotations

import pickle

import pytest

from seine.storage.memory import MemoryStore


def test_it_is_the_same_store_in_this_process() -> None:
    store = MemoryStore()
    assert pickle.loads(pickle.dumps(store)) is store  # noqa: S301


def test_it_goes_with_its_last_user() -> None:
    packed = pickle.dumps(MemoryStore())
    with pytest.raises(KeyError):
        pickle.loads(packed)  # noqa: S301
