"""Who is suspected when processes die at one entry: one that is killed leaves no fault.

Its record says which nodes were at work (`runtime/folder/at_work.py`). If the same were twice, the query that
they serve fails; of several that they serve it is found out which one kills. Where the same nodes were not
at work twice, as when the JVM dies, all queries are suspected after `DEATHS_TO_SUSPECT` deaths. Finding out
is a *trial*: an attempt at the entry with some of the suspects only, of which nothing is delivered.

    none of a b c d: passes    a b: passes    c: dies       c fails; a, b and d are back

Law: nobody fails but who was at work alone each time, or whose entry dies with it as the only suspect and
passes without any.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence

from seine.errors import RunError
from seine.intake.journal import Entry
from seine.runtime.culprits import network_of, queries_that_call, served_queries
from seine.runtime.folder.at_work import AtWork, clear_at_work, read_at_work
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure

_logger = logging.getLogger(__name__)

DEATHS_TO_BELIEVE = 2  # with the same nodes at work; a single one may be the machine's doing
DEATHS_TO_SUSPECT = 4  # without the same evidence twice; fewer may be the doing of whoever else needs memory


class Trial:
    """Finds by halves which one of some queries kills, if one does.

    >>> trial = Trial(["a", "b", "c"])
    >>> tried = [trial.active, trial.passed() or trial.active, trial.passed() or trial.active]
    >>> trial.died()
    >>> tried, trial.guilty
    ([(), ('a',), ('b',)], 'b')
    """

    def __init__(self, suspects: Sequence[str]) -> None:
        self.suspects = tuple(suspects)
        self.active: tuple[str, ...] = ()  # the suspects that the next attempt has
        self.guilty: str | None = None
        self.over = False
        self._left = self.suspects  # one of them it is, if any

    def died(self) -> None:
        """The attempt with those that are active ended in a death."""
        if not self.active:
            self.over = True  # it dies without any of them
        elif len(self.active) == 1:
            self.over, self.guilty = True, self.active[0]
        else:
            self._left = self.active
            self.active = self._left[: len(self._left) // 2]

    def passed(self) -> None:
        """The attempt with those that are active came to its end."""
        self._left = tuple(name for name in self._left if name not in self.active)
        self.over = not self._left
        self.active = self._left if len(self._left) < 2 else self._left[: len(self._left) // 2]


class Suspects:
    """Counts deaths by entry, and tries; what it knows is of this process."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._deaths: Counter[tuple[int, tuple[str, ...]]] = Counter()  # by entry and who was withheld
        self._seen: Counter[tuple[int, tuple[str, ...], tuple[int, ...]]] = Counter()  # and by nodes at work
        self._trial: tuple[int, Trial] | None = None
        self._hopeless: set[int] = set()  # entries that die with whomever
        self._laid_out = False
        clear_at_work(deployment.at_work)

    @property
    def tried(self) -> int | None:
        """The entry that is tried with some of the suspects only: its next attempt must not be delivered."""
        return None if self._trial is None else self._trial[0]

    def lay_out(self) -> None:
        """Let the next attempt have the suspects that it is to be tried with. Nothing may run."""
        if self._laid_out:
            return
        journal, self._laid_out = self._deployment.journal, True
        for number in journal.numbers():
            trial = self._trial[1] if self._trial is not None and self._trial[0] == number else None
            journal.try_without(number, [] if trial is None else {*trial.suspects} - {*trial.active})

    def after_death(self, number: int, task: int | None) -> dict[str, Failure]:
        """Note that a process died before an entry was delivered; the query that fails for it, if any.

        `task` is the host's number of the task whose process died, if it is known.
        """
        evidence = self._evidence(number, task)
        clear_at_work(self._deployment.at_work)
        if not self._deployment.journal.exists(number):
            return {}
        entry = self._deployment.journal.load(number)
        if self._trial is not None and self._trial[0] == number:
            self._trial[1].died()
            return self._after_attempt(number)
        if not evidence:
            return self._without_evidence(entry)
        return self._with_evidence(entry, evidence)

    def after_pass(self) -> None:
        """Note that the entry that is tried came to its end."""
        if self._trial is not None:
            number, trial = self._trial
            trial.passed()
            self._after_attempt(number)

    def is_held_up(self, number: int, gone: Collection[str]) -> bool:
        """Whether a node is at work at this moment that serves some of these queries and no others.

        So it is by one at which nobody else calls code of users, which nothing counts. Any thread may ask; an
        entry that is committed meanwhile is held up no more.
        """
        try:
            network, _ = network_of(self._deployment, self._deployment.journal.load(number))
        except (RunError, FileNotFoundError):
            if self._deployment.journal.exists(number):
                raise
            return False
        records = read_at_work(self._deployment.at_work)
        nodes = {i for one in records if one.entry == number for i in one.nodes if i in network.nodes}
        users = [served_queries(network, i) for i in nodes] + [queries_that_call(network, i) for i in nodes]
        return any(one and one <= {*gone} for one in users)

    def _evidence(self, number: int, task: int | None) -> list[AtWork]:
        """The records of the process that died; of a host that cannot tell, of all that were at work."""
        records = read_at_work(self._deployment.at_work)
        busy = [one for one in records if one.entry == number and one.nodes]
        return [one for one in busy if task is None or one.task == task]

    def _with_evidence(self, entry: Entry, evidence: Collection[AtWork]) -> dict[str, Failure]:
        nodes = tuple(sorted({i for one in evidence for i in one.nodes}))
        key = entry.number, entry.withheld, nodes
        self._seen[key] += 1
        if self._seen[key] < DEATHS_TO_BELIEVE:
            return self._without_evidence(entry)
        network, _ = network_of(self._deployment, entry)
        known = [i for i in nodes if i in network.nodes]
        users = sorted(set[str]().union(*(served_queries(network, i) for i in known)))
        if len(users) == 1:
            words = " and ".join(f"{network.nodes[i].kind} #{i}" for i in known)
            reason = f"{words} was at work each time when a process died, and serves no other query"
            return {users[0]: _failure(entry.number, reason)}
        return self._try(entry.number, users) if users else self._without_evidence(entry)

    def _without_evidence(self, entry: Entry) -> dict[str, Failure]:
        """Count a death that nobody in particular is suspected of; after some all are."""
        key = entry.number, entry.withheld
        self._deaths[key] += 1
        if self._deaths[key] < DEATHS_TO_SUSPECT or entry.number in self._hopeless:
            return {}
        network, _ = network_of(self._deployment, entry)
        return self._try(entry.number, [*network.queries])

    def _try(self, number: int, suspects: Sequence[str]) -> dict[str, Failure]:
        if suspects:
            _logger.warning("queries are tried", extra={"entry": number, "queries": len(suspects)})
            self._trial, self._laid_out = (number, Trial(suspects)), False
        return {}

    def _after_attempt(self, number: int) -> dict[str, Failure]:
        """What an attempt of the trial has shown."""
        assert self._trial is not None
        trial, self._laid_out = self._trial[1], False
        if not trial.over:
            return {}
        self._trial = None
        self._deaths.clear()
        self._seen.clear()
        if trial.guilty is None:
            self._hopeless.add(number)
            _logger.warning("it was no query that processes died of", extra={"entry": number})
            return {}
        reason = "a process dies with it, and none without it"
        return {trial.guilty: _failure(number, reason)}


def _failure(number: int, reason: str) -> Failure:
    return Failure(number, "death", f"{reason} (entry {number})")
