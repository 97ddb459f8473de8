"""Frees the groups of an aggregate or DISTINCT that nothing will change any more.

Where no tuple expires or is deleted, a group changes only when a tuple joins it. None will when every stream
beneath has punctuated its keys, or when its key is a time that has passed: its result is final, and the
state for computing it is dropped.

To find the groups that are finished means to look at all of them, so punctuations gather until there is
one for every sixteen groups, or a step brings none. For keys that are times there is a look when as many
tuples have come as groups were left by the last, and some more.

The rules by which groups become final: punctuations of their keys, and keys that are event times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Column
from seine.graph.node import Port
from seine.operators.join.final_time import FinalTime, passed
from seine.operators.join.join_purge import Punctuators, PurgeRule
from seine.operators.state.sorted_run import END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from seine.rows.hashing import hash_columns

GROUPS_PER_PUNCTUATION = 16
TUPLES_BETWEEN_RELEASES = 256  # tuples that come before a look for times that have passed
_PLACE = "_place"


class HeldGroups(Protocol):
    """What is held by key."""

    def size(self, store: Store) -> int:
        """About how much is held."""
        ...

    def release(self, finished: Callable[[pa.RecordBatch], AnyArray], store: Store) -> int:
        """Forget groups that nothing will change; `finished` says where they are among all. How many stay."""
        ...


class Releasing:
    """The punctuations of one node at work on its groups; a key is a tag and then what is punctuated."""

    def __init__(self, rows: Port, ports: Sequence[Port], releases: Releases, buckets: int = 1) -> None:
        """`rows` is a port that brings rows, `ports` are those that bring punctuations; `buckets` is how many
        have to send one that a join derives.
        """
        self._types = [key.type for key in rows.key[1:]]
        keys = tuple(Column(i, type_) for i, type_ in enumerate(self._types))
        self._punctuators = Punctuators(
            replace(rows, key=keys), ports, releases.purges, releases.punctuators, buckets
        )
        self._clocks = releases.clocks
        self._punctuated = bool(releases.purges)

    def step(
        self,
        pieces: Sequence[list[Delta]],
        arrived: int,
        clock: Clock,
        streams: Collection[str],
        store: Store,
        grouped: HeldGroups,
    ) -> None:
        """Take punctuations in, and free what is finished, if it is time; `arrived` rows of streams came."""
        progress = clock.progress(streams)
        begun = self._punctuators.take(pieces, clock.latest_of(streams), progress, store)
        gathered = store.head.get("gathered", 0) + begun
        since = store.head.get("since", 0) + arrived
        store.head.update(gathered=gathered, since=since)
        by_punctuation = gathered and not (begun and gathered * GROUPS_PER_PUNCTUATION < grouped.size(store))
        by_time = self._clocks and since > store.head.get("stayed", 0) + TUPLES_BETWEEN_RELEASES
        if by_punctuation or by_time:
            stayed = grouped.release(lambda groups: self._finished(groups, progress, store), store)
            self._punctuators.prune(store)
            store.head.update(gathered=0, since=0, stayed=stayed)

    def punctuation_rows(self, store: Store) -> int:
        """How many punctuations are held."""
        return self._punctuators.rows(store)

    def _finished(self, groups: pa.RecordBatch, progress: int, store: Store) -> AnyArray:
        """The places of groups, whose keys are columns k0 (the tag), k1, .., that are finished."""
        finished = [self._by_punctuation(groups, store)] if self._punctuated else [np.zeros(0, np.int64)]
        for time, reached in passed(self._clocks, progress):
            name = f"r{time.place}" if time.of_result else f"k{time.place + 1}"
            earlier = pc.fill_null(pc.less(groups[name], reached), False)
            finished.append(np.flatnonzero(earlier.to_numpy(zero_copy_only=False)))
        return np.unique(np.concatenate(finished))

    def _by_punctuation(self, groups: pa.RecordBatch, store: Store) -> AnyArray:
        keys = [groups[f"k{i + 1}"] for i in range(len(self._types))]
        count = groups.num_rows
        columns = {KEY: pa.array(hash_columns(keys, count)), START: pa.array(np.zeros(count, np.int64))}
        columns |= {END: pa.array(np.full(count, FOREVER)), _PLACE: pa.array(np.arange(count))}
        columns |= {f"c{i}": key for i, key in enumerate(keys)}
        run = SortedRun.of(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)), KEY)
        places: AnyArray = run.batch[_PLACE].to_numpy()
        finished: AnyArray = places[self._punctuators.finished(run, store)]
        return finished


@dataclass(frozen=True)
class Releases:
    """What frees groups: the punctuations that come by the last ports of their node, and keys that are times.

    `purges` say who punctuates which keys.
    """

    purges: tuple[PurgeRule, ...] = ()
    punctuators: int = 0
    clocks: tuple[FinalTime, ...] = ()
