"""What tasks must know of a pipeline, most of it fixed when that is first started.

Imports nothing heavy: Spark starts many processes.

Labels of buckets: one bucket a shuffle partition, none of them in another's way.

Spark places a row in partition pmod(murmur3(bucket), partitions). Numbering buckets 0, 1, 2, ... would put
several in one partition and leave others empty, so each bucket gets the smallest
label that Spark hashes to its partition.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from seine.errors import SeineError
from seine.intake.spark_feed import SourceBranch
from seine.operators.state.work_budget import WorkBudget
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import read_json

FORMAT = 9  # of the deployment folder; format_steps.py brings the one before it up to date

T = TypeVar("T")


class EndedPipeline(Struct, frozen=True):
    """A pipeline that has handed over: where it began, what Spark read for it, and how many stages it had.

    Each of these has left the state of every bucket. Folders from before that was noted have 0 stages.
    """

    start: int
    branches: tuple[SourceBranch, ...] = ()
    stages: int = 0


class Settings(Struct, frozen=True):
    """What every task of a pipeline has to know beforehand; what ever changes are the `budget`, the
    `worker_memory` and, with a hand-over, `start`, `depth`, `branches` and `before`.

    `labels` has for each bucket the number that Spark is given for it. `start` is the entry that handed over
    to this pipeline, -1 if it is the first; `depth` says how many stages it has. `cache` is a folder of each
    machine for decoded state. `script` is a digest of the script that runs, None in a service; `memory`
    bounds the tuples that all joins within a memory hold together; `budget` what a node spends in a task,
    `worker_memory` the bytes that each worker process may have to itself, 0: as many as there are.
    `branches` are the streams that Spark reads in a service; a run reads those of its script. `before` is the
    pipeline that handed over to this one, of a run too.
    """

    labels: tuple[int, ...]
    parallelism: int
    depth: int
    cache: str
    start: int = -1
    script: str | None = None
    memory: int | None = None
    budget: WorkBudget = WorkBudget()
    worker_memory: int = 0
    branches: tuple[SourceBranch, ...] = ()
    before: EndedPipeline | None = None
    format: int = FORMAT


def new_settings(
    buckets: int,
    depth: int,
    script: str | None = None,
    memory: int | None = None,
    budget: WorkBudget | None = None,
    *,
    cache: str | None = None,
) -> Settings:
    """The settings of a pipeline that is to be started for the first time.

    Unless another folder is given, the cache has a name of its own in the system's temporary folder: whoever
    starts the pipeline again finds and removes it there.
    """
    place = cache or new_cache()
    settings = Settings(tuple(labels(buckets)), buckets, depth, place, script=script, memory=memory)
    return settings if budget is None else replace(settings, budget=budget)


def new_cache() -> str:
    """A place for decoded state that no other pipeline has."""
    return os.path.join(tempfile.gettempdir(), f"seine-cache-{uuid.uuid4().hex}")


def cache_of_this_machine(cache: str) -> str:
    """The folder for decoded state of a pipeline: if there is a cluster manager, one that it empties."""
    standalone = os.environ.get("SPARK_EXECUTOR_DIRS", "").split(os.pathsep)
    scratch = standalone[0] or os.environ.get("LOCAL_DIRS", "").split(",")[0]
    return os.path.join(scratch, os.path.basename(cache)) if scratch else cache


SETTINGS = "settings"  # the register that has them


def read_settings(store: Store) -> Settings:
    """The settings of the pipeline that lives in a store."""
    settings = read_register(store, SETTINGS, Settings)
    if settings is None:
        raise damaged(f"{store.place}/{SETTINGS}")
    return settings


def read_register(store: Store, name: str, kind: type[T]) -> T | None:
    """A record that a pipeline keeps as JSON in a register; None if there is none."""
    text = Register(store, name).read()
    return None if text is None else decoded(text, kind, f"{store.place}/{name}")


def decoded(text: bytes, kind: type[T], place: str) -> T:
    """The record that a text from some place says."""
    try:
        return read_json(text, kind)
    except ValueError:
        raise damaged(place) from None


def read_record(path: str, kind: type[T]) -> T:
    """A record that a pipeline keeps as JSON in its folder."""
    with open(path, "rb") as file:
        return decoded(file.read(), kind, path)


def damaged(path: str) -> SeineError:
    """The refusal of a file that we did not leave like that."""
    return SeineError(
        f"the checkpoint is damaged: '{path}' cannot be used", hint="name a new checkpoint folder"
    )


_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's seed for hash partitioning


def labels(partitions: int) -> list[int]:
    """The label of each bucket, bucket i living in partition i.

    >>> [murmur3(label) % 4 for label in labels(4)]
    [0, 1, 2, 3]
    """
    first: dict[int, int] = {}
    label = 0
    while len(first) < partitions:
        first.setdefault(murmur3(label) % partitions, label)
        label += 1
    return [first[partition] for partition in range(partitions)]


def murmur3(value: int) -> int:
    """Spark's hash of an INT, as a signed 32-bit number.

    >>> murmur3(0), murmur3(1)
    (933211791, -559580957)
    """
    k = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = _rotate(_SEED ^ k, 13) * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
