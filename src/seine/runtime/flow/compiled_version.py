"""The cache of compiled network versions of a process: what a task runs."""

from __future__ import annotations

from dataclasses import dataclass

from seine.runtime.flow.dataflow import Dataflow
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.relation_files import RelationFiles
from seine.runtime.folder.versions import Version


@dataclass(frozen=True)
class CompiledVersion:
    """A network version, and the dataflow that runs it."""

    version: Version
    flow: Dataflow


def compile_version(
    deployment: Deployment, number: int, before: CompiledVersion | None = None
) -> CompiledVersion:
    """A network version ready to run; cheap if an earlier one is given, which lends what has not changed."""
    version, changed = deployment.versions.load(number, before.version if before else None)
    buckets, budget = len(deployment.settings.labels), deployment.settings.memory
    if before is None or changed is None or before.version.relations != version.relations:
        relations = RelationFiles(version.relations)
        return CompiledVersion(version, Dataflow(version.snapshot, buckets, relations, budget))
    flow = Dataflow(version.snapshot, buckets, before.flow.relations, budget)
    return CompiledVersion(version, flow.follow(before.flow, changed))


_compiled: dict[str, CompiledVersion] = {}


def compiled_version(folder: str, number: int) -> CompiledVersion:
    """A network version, compiled once in each process; the next one is made from the last."""
    last = _compiled.get(folder)
    if last is None or last.version.number != number:
        _compiled.clear()  # one pipeline at a time is at work here
        newer = last is not None and last.version.number < number
        _compiled[folder] = compile_version(Deployment(folder), number, last if newer else None)
    return _compiled[folder]
