"""The cache of compiled network versions of a process: what a task runs."""

from __future__ import annotations

from dataclasses import dataclass

from seine.rare_collections import rare_collections, set_aside, set_aside_after_task
from seine.runtime.flow.dataflow import Dataflow
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.kept_functions import load_functions
from seine.runtime.folder.relation_files import RelationFiles
from seine.runtime.folder.versions import Version


@dataclass(frozen=True)
class CompiledVersion:
    """A network version without the queries that are withheld, and the dataflow that runs it."""

    version: Version
    flow: Dataflow
    withheld: frozenset[str] = frozenset()


def compile_version(
    deployment: Deployment,
    number: int,
    before: CompiledVersion | None = None,
    withheld: frozenset[str] = frozenset(),
) -> CompiledVersion:
    """A network version ready to run; cheap if an earlier one is given, which lends what has not changed.

    Without some of its queries it is made anew: they failed, and that is rare.
    """
    load_functions(deployment.folder)
    buckets, budget = len(deployment.settings.labels), deployment.settings.memory
    if withheld:
        version = deployment.versions.without(number, withheld)
        relations = RelationFiles(version.relations)
        return CompiledVersion(version, Dataflow(version.snapshot, buckets, relations, budget), withheld)
    version, changed = deployment.versions.load(number, before.version if before else None)
    if before is None or changed is None or before.version.relations != version.relations:
        relations = RelationFiles(version.relations)
        return CompiledVersion(version, Dataflow(version.snapshot, buckets, relations, budget))
    flow = Dataflow(version.snapshot, buckets, before.flow.relations, budget)
    return CompiledVersion(version, flow.follow(before.flow, changed))


_compiled: dict[str, CompiledVersion] = {}
_set_aside_at: tuple[int, int] | None = None  # the dataflow that was set aside, and what it had made by then


def compiled_version(folder: str, number: int, withheld: tuple[str, ...] = ()) -> CompiledVersion:
    """A network version, compiled once in each process; the next one is made from the last."""
    last, without = _compiled.get(folder), frozenset(withheld)
    if last is None or (last.version.number, last.withheld) != (number, without):
        _compiled.clear()  # one pipeline at a time is at work here
        newer = last is not None and last.version.number < number and not last.withheld
        with rare_collections():
            _compiled[folder] = compile_version(Deployment(folder), number, last if newer else None, without)
    return _compiled[folder]


def set_compiled_aside(here: CompiledVersion) -> None:
    """Leave what was compiled out of garbage collections; most of it is made when rows first come."""
    global _set_aside_at
    mark = id(here.flow), here.flow.made
    if mark != _set_aside_at:
        _set_aside_at = mark
        set_aside()
    else:
        set_aside_after_task()
