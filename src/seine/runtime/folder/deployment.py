"""The folder that a pipeline lives in: settings, journal, networks, relations, results.

    settings/              a register: what is fixed when the pipeline is first started
    journal/<entry>        admitted input, one entry a micro-batch; amended/, punctuations/: see journal.py
    networks/<version>/    a network version, whole or as a change; see versions.py
    results/<entry>/       what tasks wrote and the sink has not taken yet
    log/                   what counts: a record a micro-batch; see output/batch_log.py
    topics/                a register: the ids of the topics that are read
    first_offsets/<branch> where the reading of topics began; see spark/first_offsets.py
    history/               rows of entries that are done, for queries that begin with history
    result_index/          where in the results each query's records are; derived, see result_index.py
    results.jsonl          the results that the sinks of a run read; a service has them beside this folder
    sink_progress/         registers: how far each sink has come; sink_identities/: who those of a run are
    undelivered/           by sink of a run, the records that a webhook did not take
    spark/                 Spark's own checkpoint
    faults/<entry>/        what tasks met that failed because of a query; see failures.py
    at_work/               what each worker process is doing; see at_work.py
    functions/             users' functions, for every process that works here; see kept_functions.py
    failures/              a register: the queries of a run that failed
    registered.json        what was registered in a run after its start; see run_record.py
    handover/<entry>/      state on its way from a pipeline to the next

A Spark plan has a fixed number of stages, and fixed streams that Spark reads. When others are needed, an
entry is cut that is the last of its pipeline: with it every stage writes down its state, and another
pipeline, with a checkpoint of its own, begins with that. `start` in the settings is the
entry that handed over; -1 at first.

What is kept in the `store` are immutable objects and registers (`seine.storage`); all else are files that are
written under another name first and renamed when they are whole.
"""

from __future__ import annotations

import os
import shutil
from functools import cached_property

from msgspec.structs import replace

from seine.disk_sync import is_temporary, sweep_temporaries
from seine.errors import SeineError
from seine.intake.journal import Journal
from seine.intake.spark_feed import PipelineShape
from seine.operators.state.work_budget import WorkBudget
from seine.runtime.folder.failures import Faults
from seine.runtime.folder.format_steps import bring_up_to_date, has_settings
from seine.runtime.folder.handover import HANDOVERS
from seine.runtime.folder.settings import SETTINGS, EndedPipeline, Settings, read_settings
from seine.runtime.folder.versions import Versions
from seine.storage.local import store_at
from seine.storage.log import Register
from seine.typed_json import write_json

_NEW = "name a new folder, or an empty one"
LOG = "log"

# folders of files that are written whole; others have temporary names of their own, or are Spark's
_WRITTEN_WHOLE = frozenset({"undelivered"})


class Deployment:
    """Access to a pipeline's folder; cheap to make, anywhere."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.store = store_at(folder)

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.store)

    @cached_property
    def journal(self) -> Journal:
        return Journal(self.store)

    def exists(self) -> bool:
        return has_settings(self.store)

    def refuse_foreign(self) -> None:
        """Refuse a folder that is of somebody else, or cannot be made or written to."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            known = set() if any(self.store.list(f"{SETTINGS}/")) else {SETTINGS}
            foreign = [
                name for name in os.listdir(self.folder) if name not in known and not _comes_first(name)
            ]
            writable = os.access(self.folder, os.W_OK | os.X_OK)
        except OSError as error:
            raise SeineError(f"cannot keep state in '{self.folder}': {error.strerror}", hint=_NEW) from error
        if foreign or not writable:
            reason = f"it holds '{sorted(foreign)[0]}' and no checkpoint" if foreign else "it is not writable"
            raise SeineError(f"cannot keep state in '{self.folder}': {reason}", hint=_NEW)

    def bring_up_to_date(self) -> int:
        """Let a folder of the format before have the present one; the format that it had."""
        return bring_up_to_date(self.store)

    def create(self, settings: Settings) -> None:
        """Make it the folder of a pipeline: from now on it `exists`."""
        content = write_json(settings, indent=1)
        Register(self.store, SETTINGS).change(lambda _: content)

    @property
    def log(self) -> str:
        """What counts: a record a micro-batch."""
        return self._path(LOG)

    @property
    def topics(self) -> Register:
        """The ids of the topics that are read."""
        return Register(self.store, "topics")

    @property
    def result_index(self) -> str:
        return self._path("result_index")

    @property
    def result_log(self) -> str:
        """The results that the sinks of a run read."""
        return self._path("results.jsonl")

    @property
    def undelivered(self) -> str:
        """What a webhook of a run did not take."""
        return self._path("undelivered")

    @property
    def spark(self) -> str:
        return self.spark_of(self.settings.start)

    def spark_of(self, start: int) -> str:
        """Spark's checkpoint of the pipeline that began after an entry."""
        return self._path("spark" if start < 0 else f"spark-{start:012d}")

    def take_over(self, entry: int, shape: PipelineShape) -> None:
        """From an entry on, a pipeline with so many stages, and these branches."""
        before = EndedPipeline(self.settings.start, self.settings.branches, self.settings.depth)
        self.settings = replace(
            self.settings, start=entry, depth=shape.depth, branches=shape.branches, before=before
        )
        self.create(self.settings)

    def allow(self, budget: WorkBudget | None) -> None:
        """From now on another budget; what was withheld under the one before stays withheld."""
        if budget is not None and budget != self.settings.budget:
            self.settings = replace(self.settings, budget=budget)
            self.create(self.settings)

    def hold_workers(self, memory: int) -> None:
        """From now on each worker process may have so many bytes to itself; 0: as many as there are."""
        if memory != self.settings.worker_memory:
            self.settings = replace(self.settings, worker_memory=memory)
            self.create(self.settings)

    def sweep(self) -> None:
        """Remove what pipelines before the present one left; it must have state of its own."""
        kept = os.path.basename(self.spark)
        for name in os.listdir(self.folder):
            if name.startswith("spark") and name != kept:
                shutil.rmtree(self._path(name), ignore_errors=True)
        self.store.delete(self.store.list(HANDOVERS))

    def recover(self) -> None:
        """Remove what a process that was killed left: decoded state, and files that did not become whole.

        Nobody may be working for the pipeline.
        """
        self.remove_cache()
        self.store.sweep()
        for place, folders, _ in os.walk(self.folder):
            if place == self.folder:
                folders[:] = [name for name in folders if name in _WRITTEN_WHOLE]
            sweep_temporaries(place)

    def remove_cache(self) -> None:
        """Remove the decoded state of this machine, which no task may be using; it is decoded again."""
        shutil.rmtree(self.settings.cache, ignore_errors=True)

    @cached_property
    def faults(self) -> Faults:
        return Faults(self.store)

    @property
    def at_work(self) -> str:
        """What each worker process is doing."""
        return self._path("at_work")

    @property
    def registered(self) -> str:
        """What was registered in a run after its start."""
        return self._path("registered.json")

    @cached_property
    def versions(self) -> Versions:
        return Versions(self.store)

    def _path(self, *parts: str) -> str:
        return os.path.join(self.folder, *parts)


def _comes_first(name: str) -> bool:
    """Whether a folder may have this before it has settings: what was written before a kill."""
    return name in ("networks", "functions") or name.startswith(".") or is_temporary(name)
