"""Spark's log of offsets: how far each branch was read, and what is planned beyond that.

offsets/6   v1, settings, {"entry": 6}, {"bids": {"0": 120}}     committed: commits/6 is there
offsets/7   v1, settings, {"entry": 7}, {"bids": {"0": 140}}     planned: done again unless we committed it

Micro-batch n of a pipeline that reads streams is that of entry start + 1 + n, where the pipeline began.

Branches that two pipelines have: the second goes on where the first one was.

A pipeline that took over has a checkpoint of its own. Spark would read its sources from their beginning, and
knows no offset but those of its log. So where a branch goes on, the pipeline does its first entry without any
branch, which takes over the state; then that micro-batch is given the offsets that the one before ended with:

    spark/offsets/6          v1, settings, {"entry": 6}, {"bids": {"0": 120}}        the last of its pipeline
    spark-..6/offsets/0      v1, settings, {"entry": 7}                              the first of the next one
                          -> v1, settings, {"entry": 7}, {"bids": {"0": 120}}, -     `-`: a branch that is new

Law: nothing but `offsets/0` says whether this was done, and it is replaced whole, when all else is durable;
until then the checkpoint before it stays. So a crash anywhere leads to the same offsets.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from seine.disk_sync import make_folder, sync_tree, write_whole
from seine.errors import RunError
from seine.intake.spark_feed import SourceBranch
from seine.runtime.folder.deployment import Deployment

_VERSION = "v1"
_COMMITTED = b'v1\n{"nextBatchWatermarkMs":0}'  # as Spark 4 writes it: it keeps no time for us
NO_OFFSET = "-"  # as Spark writes it
SOURCES_AT = 2  # lines before the first source's, which is the journal's


def offset_lines(path: str) -> list[str]:
    """The lines of a micro-batch in the log; refuses those of another form."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines[0] != _VERSION:
        raise unreadable_offsets(path)
    return lines


def unreadable_offsets(path: str) -> RunError:
    return RunError(f"the offsets of Spark's sources cannot be read in '{path}'")


def last_batch(checkpoint: str, log: str) -> int | None:
    """The last micro-batch in a log of Spark's, `offsets` or `commits`; None if there is none."""
    folder = os.path.join(checkpoint, log)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(name) for name in names if name.isdigit()), default=None)


def read_offsets(deployment: Deployment) -> dict[SourceBranch, str]:
    """How far the last committed micro-batch read each branch, as the format of its source writes it."""
    last = last_batch(deployment.spark, "commits")
    return {} if last is None else _offsets_of(deployment, last)


def planned_branches(deployment: Deployment) -> set[SourceBranch]:
    """The branches of which the micro-batch that is planned, and not committed, has something."""
    planned = _planned(deployment)
    if planned is None:
        return set()
    before = read_offsets(deployment)
    offsets = _offsets_of(deployment, planned)
    return {branch for branch, offset in offsets.items() if offset != before.get(branch, NO_OFFSET)}


def put_off_planned(deployment: Deployment) -> bool:
    """Let Spark plan the micro-batch again that is planned and not committed; False if it must be done so.

    It must if its tasks have reported: the next entry, and perhaps the output, have what they read.
    """
    planned, last = _planned(deployment), deployment.journal.last()
    if planned is None:
        return True
    if last is not None and last.number > _entry_of(deployment, planned):
        return False
    for name in (f".{planned}.crc", str(planned)):
        with suppress(FileNotFoundError):
            os.remove(os.path.join(deployment.spark, "offsets", name))
    return True


def note_committed(deployment: Deployment, entry: int) -> None:
    """Enter the planned micro-batch in Spark's log of commits, if we have committed all up to its `entry`.

    We commit a micro-batch once its tasks have, state and all. Spark notes it after that, and does not come
    to it if it is stopped in between; it would do it again, and its sources might not have it any more.
    """
    planned = _planned(deployment)
    if planned is not None and entry >= _entry_of(deployment, planned):
        folder = os.path.join(deployment.spark, "commits")
        make_folder(folder)  # a copy may lack it, if it was empty
        write_whole(os.path.join(folder, str(planned)), _COMMITTED)


def _entry_of(deployment: Deployment, batch: int) -> int:
    return deployment.settings.start + 1 + batch


def _planned(deployment: Deployment) -> int | None:
    planned, committed = (last_batch(deployment.spark, log) for log in ("offsets", "commits"))
    return planned if planned is not None and planned > (-1 if committed is None else committed) else None


def _offsets_of(deployment: Deployment, batch: int) -> dict[SourceBranch, str]:
    lines = offset_lines(os.path.join(deployment.spark, "offsets", str(batch)))
    branches = deployment.settings.branches
    offsets = lines[SOURCES_AT + 1 :]
    # the first micro-batch of a pipeline that takes over has none until they are carried
    return dict(zip(branches, offsets, strict=True)) if len(offsets) == len(branches) else {}


def carries(deployment: Deployment) -> bool:
    """Whether branches of the pipeline before go on in this one."""
    settings = deployment.settings
    return settings.before is not None and not set(settings.branches).isdisjoint(settings.before.branches)


def is_begun(deployment: Deployment) -> bool:
    """Whether the first micro-batch is done, without any branch or with all of them."""
    return last_batch(deployment.spark, "commits") is not None


def carry_offsets(deployment: Deployment) -> None:
    """Give the first micro-batch the offsets with which its branches go on, unless that was done."""
    settings, before = deployment.settings, deployment.settings.before
    first = os.path.join(deployment.spark, "offsets", "0")
    if before is None or not os.path.exists(first):  # Spark has removed it: that was long ago
        return
    lines = offset_lines(first)
    if len(lines) > SOURCES_AT + 1:
        return
    checkpoint = deployment.spark_of(before.start)
    last = offset_lines(os.path.join(checkpoint, "offsets", str(settings.start - before.start - 1)))
    if len(last) != SOURCES_AT + 1 + len(before.branches):
        raise unreadable_offsets(checkpoint)
    known = dict(zip(before.branches, last[SOURCES_AT + 1 :], strict=True))
    for place, branch in enumerate(settings.branches, 1):
        if branch in known:
            _carry_metadata(checkpoint, 1 + before.branches.index(branch), deployment.spark, place)
    sync_tree(deployment.spark)  # with the commit of that micro-batch, which is not begun again
    offsets = [known.get(branch, NO_OFFSET) for branch in settings.branches]
    _replace(first, [*lines, *offsets])


def _carry_metadata(old: str, old_place: int, new: str, place: int) -> None:
    """Copy what a source notes of itself, as which files it has seen."""
    source, target = (
        os.path.join(folder, "sources", str(number)) for folder, number in ((old, old_place), (new, place))
    )
    shutil.rmtree(target, ignore_errors=True)
    if os.path.isdir(source):
        shutil.copytree(source, target)


def _replace(path: str, lines: list[str]) -> None:
    checksum = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.crc")
    if os.path.exists(checksum):
        os.remove(checksum)
    write_whole(path, "\n".join(lines).encode())
