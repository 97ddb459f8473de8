"""Branches that two pipelines have: the second goes on where the first one was.

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

from seine.disk_sync import sync_tree, write_whole
from seine.runtime.folder.deployment import Deployment
from seine.spark.offset_log import NO_OFFSET, SOURCES_AT, last_batch, offset_lines, unreadable_offsets


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
