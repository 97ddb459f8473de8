"""Where a store is, as text: whoever works for a pipeline, in any process, finds its store by that."""

from __future__ import annotations

from seine.storage.local import LocalStore
from seine.storage.memory import IN_MEMORY, memory_store_at
from seine.storage.store import Store


def store_at(place: str) -> Store:
    """The store of a folder, or the one in the memory of this process that has such a place.

    >>> from seine.storage.memory import MemoryStore
    >>> store = MemoryStore()
    >>> store_at(store.place) is store, store_at("/var/lib/seine")
    (True, LocalStore('/var/lib/seine'))
    """
    return memory_store_at(place) if place.startswith(IN_MEMORY) else LocalStore(place)
