"""What the nodes of one task may spend: candidates that they form and bytes that they emit, counted.

A candidate is a pair of rows, or of a combination and a row, that a join or a lookup has to look at. Bytes
are those of the Arrow batches that a node emits, and of the records of one query. Functions whose work is
more than in proportion to their input spend steps and bytes too (`evaluate/kernels/spending.py`): the calls
on which a node spends most are named if it goes over, for not all who use the node make them.

    with meter.counting():                 a task
        with meter.at(node):               a node at work, perhaps within another one that pushes rows to it
            spend_candidates(1_000_000)    wherever candidates are formed, a chunk at a time

A node that works for very many queries at once keeps a `ByteAccount`: if it emits too much, those fail for
whom it emits most, and not all that use it.

Law: whether a node is over its budget depends on the rows that come to it, never on time. What a node
raises leaves `at` as a `NodeFault` that names it, but for refusals and failures of files and sockets: no
query is at fault for these.

What a worker process may take of the machine's memory, for itself: pages that it shares do not count.

`RLIMIT_DATA` bounds what a process may write to and shares with nobody, mapped segments of state excluded.
What is reserved counts as well as what is used: stacks of threads, and room that allocators keep. So whoever
asks for more is refused there and then, at the node at work, and workers do not come to the point where the
kernel chooses whom to kill. Others may bring them there: processes of users' code and scripts that are tried
have limits of their own beside it. The limit is put so far above what the process has mapped now as it may
still take.

Law: the resident private memory of a process that is held is at most its limit, or what it was when it was
first held. Where there is no /proc, as on macOS, nothing is held.
"""

from __future__ import annotations

import os
import resource
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import thread_time_ns
from types import TracebackType
from typing import Literal, Protocol, TypeVar, cast

from msgspec import Struct

from seine.algebra.expressions import Call
from seine.errors import SeineError
from seine.evaluate.kernels.spending import Called, Spender, called
from seine.process_limits import bound_process
from seine.user_code.limits import FunctionFault, FunctionLimits, task_of_functions

FaultKind = Literal["budget", "death", "error", "memory", "quota", "function"]
Piece = TypeVar("Piece")
Account = TypeVar("Account", bound="ByteAccount")

_LONG_WORK = 1_000_000  # nanoseconds of CPU time; less cannot take much memory
_LEAST_TO_BLAME = 0.125  # of what a worker may take
_LARGE_RESULT = 1 << 24  # bytes; calls with less are not to blame for what another one is refused
_MOST_CONSTANTS = 50  # of one call that are told; more are those of rows and not of queries
_MOST_REASON = 500  # characters of an error's message that a fault keeps


class WorkBudget(Struct, frozen=True):
    """The most candidates, bytes and steps of one node, or bytes of records of one query, in one task.

    Users' functions have limits of their own: they run in another process.
    """

    candidates: int = 50_000_000
    bytes: int = 1 << 30
    steps: int = 5_000_000_000
    functions: FunctionLimits = FunctionLimits()

    @property
    def too_many_candidates(self) -> str:
        return f"formed more than {self.candidates:,} candidates in one micro-batch"

    @property
    def too_many_bytes(self) -> str:
        return f"emitted more than {self.bytes:,} bytes in one micro-batch"

    @property
    def too_many_record_bytes(self) -> str:
        return f"delivered more than {self.bytes:,} bytes of records in one micro-batch"


class NodeWork(Struct, frozen=True, array_like=True):
    """What a node did in a task: CPU time in nanoseconds, that of users' code for it too; rows that came and
    went.
    """

    cpu: int = 0
    rows_in: int = 0
    rows_out: int = 0


class NodeFault(Exception):
    """Nodes that went over their budget, or raised; or queries whose own results are too many.

    Either there are nodes, or there are queries. If there are `calls`, whoever makes such a call of a
    function at the nodes is at fault, and nobody else. `others` are those that the same task met besides.
    """

    def __init__(
        self,
        kind: FaultKind,
        reason: str,
        nodes: tuple[int, ...] = (),
        queries: tuple[str, ...] = (),
        calls: tuple[Called, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.nodes = nodes
        self.queries = queries
        self.calls = calls
        self.others: tuple[NodeFault, ...] = ()


def first_fault(faults: Sequence[NodeFault]) -> NodeFault:
    """The first of some faults, with all the others that were met besides."""
    first, *others = [one for fault in faults for one in (fault, *fault.others)]
    first.others = tuple(others)
    return first


class ByteAccount(Protocol):
    """For whom a shared node emits bytes in one task."""

    def heaviest(self) -> tuple[str, ...]:
        """The queries for which it emits most."""
        ...


Spent = tuple[int, int]  # steps and bytes


class CallsSpent:
    """What nodes spent on calls of functions, by call, and of one call by the constants of its parameters."""

    def __init__(self) -> None:
        self.total: Spent = (0, 0)
        self._by_call: defaultdict[Called, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._sizes: defaultdict[Called, Counter[tuple[str, ...]]] = defaultdict(Counter)

    def add(self, called: Called, steps: int, size: int) -> None:
        """A call spends more."""
        self.total = self.total[0] + steps, self.total[1] + size
        call = called._replace(constants=())
        self._by_call[call][called.constants] += steps
        self._sizes[call][called.constants] += size

    def heaviest(self, measure: int) -> tuple[Called, ...]:
        """The calls on which at least half of the most was spent, with constants that have most of it."""
        spent = (self._by_call, self._sizes)[measure]
        totals = {call: constants.total() for call, constants in spent.items()}
        heavy = []
        for call, total in totals.items():
            if 2 * total < max(totals.values()):
                continue
            most = max(spent[call].values())
            chosen = [constants for constants, one in spent[call].items() if 2 * one >= most]
            most_of_it = 2 * sum(spent[call][constants] for constants in chosen) >= total
            apart = most_of_it and len(chosen) <= _MOST_CONSTANTS
            heavy += [call._replace(constants=constants) for constants in chosen] if apart else [call]
        return tuple(heavy)


class WorkMeter(Spender):
    """Counts what each node of one task spends."""

    def __init__(
        self,
        budget: WorkBudget,
        note: Callable[[tuple[int, ...]], None] = lambda nodes: None,
        memory: WorkerMemory | None = None,
    ) -> None:
        """`note` is told who is at work, before they begin; `memory` is what the process may take."""
        super().__init__(budget.steps, budget.bytes)
        self.budget = budget
        self._called: dict[tuple[int, ...], CallsSpent] = {}
        self._note = note
        self._memory = memory
        self._taken = 0 if memory is None else memory.taken()
        self._grown: Counter[tuple[int, ...]] = Counter()  # bytes, by the nodes that were at work
        self._largest: dict[tuple[int, ...], tuple[int, Call]] = {}  # result of a call, if it is large
        self._at: tuple[int, ...] = ()  # the nodes at work; several if they step together
        self._candidates: Counter[tuple[int, ...]] = Counter()
        self._bytes: Counter[int] = Counter()
        self._accounts: dict[int, ByteAccount] = {}
        self._cpu: Counter[tuple[int, ...]] = Counter()
        self._since = 0  # when those at work began, by the clock of this thread's CPU time
        self._received: Counter[int] = Counter()
        self._sent: Counter[int] = Counter()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count candidates that are formed within, work that functions do, and what users' code fails for."""
        token = _meter.set(self)
        try:
            with super().counting(), task_of_functions(self.spent_elsewhere):
                yield
        finally:
            _meter.reset(token)

    def spend(self, called: Called, steps: int, size: int) -> None:
        """The nodes at work spend so much more on a call; where none are it is nobody's, and not counted."""
        if not self._at:
            return
        calls = self._called.setdefault(self._at, CallsSpent())
        calls.add(called, steps, size)
        over = self.over(calls.total)
        if over is not None:
            heavy = calls.heaviest(over[0])
            functions = ", ".join(dict.fromkeys(call.function for call in heavy))
            reason = f"called {functions}, which {over[1]} in one micro-batch"
            raise NodeFault("budget", reason, self._at, calls=heavy)

    def ended(self, made: int) -> None:
        """The call at work has given its result; the largest one of the nodes is kept in mind."""
        if made > max(_LARGE_RESULT, self._largest.get(self._at, (0,))[0]) and self.at_work is not None:
            self._largest[self._at] = made, self.at_work
        super().ended(made)

    def at(self, *nodes: int) -> NodesAtWork:
        """Let what is spent and raised within be that of these nodes."""
        return NodesAtWork(self, nodes)

    def swap(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """Let other nodes be at work; those before."""
        now, before = thread_time_ns(), self._at
        spent = now - self._since
        if before:
            self._cpu[before] += spent
        if spent > _LONG_WORK:
            self._look_at_memory()
        self._note(nodes)
        self._at, self._since = nodes, now
        self.at_work = None
        return before

    def spent_elsewhere(self, cpu: int) -> None:
        """Another process has worked so long for the nodes at work, if any are."""
        if self._at:
            self._cpu[self._at] += cpu

    def _look_at_memory(self) -> None:
        """Put down to the nodes at work what the process has taken since the last look."""
        if self._memory is not None:
            taken, before = self._memory.taken(), self._taken
            self._grown[self._at] += taken - before
            self._taken = taken

    def memory_fault(self, error: MemoryError) -> NodeFault | None:
        """Whose doing it is that there is no more memory; None if it is nobody's.

        Of nodes that took memory the one that took most: what it was refused counts for the one at work, and
        that is more than what was left. With less than a share of the limit nobody is to blame. If the node
        was computing a call, those are to blame who make the call that took the memory.
        """
        if self._memory is None:
            calls = self._calls_to_blame(asked_most=False)
            return NodeFault("memory", _words(error), self._at, calls=calls) if self._at else None
        self._memory.give_room()  # to look at what is left takes some memory, too
        left = self._memory.free()
        self._look_at_memory()
        self._grown[self._at] += left
        nodes, size = max(self._grown.items(), key=lambda one: one[1])
        if not nodes or size < self._memory.limit * _LEAST_TO_BLAME:
            return None
        asked_most = left >= self._memory.limit * _LEAST_TO_BLAME
        calls = self._calls_to_blame(asked_most=asked_most) if nodes == self._at else ()
        return NodeFault("memory", self._memory.too_much, nodes, calls=calls)

    def _calls_to_blame(self, *, asked_most: bool) -> tuple[Called, ...]:
        """The call that took the memory: the one that was refused, or else the one with the largest result.

        The one at work may be an innocent one that was refused the little that another one left.
        """
        if self.at_work is None:
            return ()
        _, largest = self._largest.get(self._at, (0, self.at_work))
        return (called(self.at_work if asked_most else largest),)

    @contextmanager
    def judging_memory(self) -> Iterator[None]:
        """Within this, also what asks for too much memory between nodes is put down to a node."""
        try:
            yield
        except MemoryError as error:
            fault = self.memory_fault(error)
            if fault is None:
                raise
            raise fault from error

    def passed(self, node: int, rows: int, receivers: Iterable[int]) -> None:
        """A node gives rows to others."""
        self._sent[node] += rows
        for receiver in receivers:
            self._received[receiver] += rows

    def work(self) -> dict[int, NodeWork]:
        """What each node has done; nodes that stepped together have done equal parts."""
        cpu: Counter[int] = Counter()
        for nodes, spent in self._cpu.items():
            cpu.update(dict.fromkeys(nodes, spent // len(nodes)))
        met = sorted(cpu.keys() | self._received.keys() | self._sent.keys())
        return {i: NodeWork(cpu[i], self._received[i], self._sent[i]) for i in met}

    def each(self, step: Callable[[], Iterator[Piece]], *nodes: int) -> Iterator[Piece]:
        """What a step of nodes yields piece by piece; others may work between two pieces."""
        with self.at(*nodes):
            pieces = step()
        while True:
            with self.at(*nodes):
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def formed(self, candidates: int) -> None:
        """The nodes at work look at so many candidates more; where none are nobody counts them."""
        if not self._at:
            return
        self._candidates[self._at] += candidates
        if self._candidates[self._at] > self.budget.candidates:
            raise NodeFault("budget", self.budget.too_many_candidates, self._at)

    def emitted(self, node: int, size: int) -> None:
        """A node emits so many bytes more."""
        self._bytes[node] += size
        if self._bytes[node] > self.budget.bytes:
            if node in self._accounts:
                heaviest = self._accounts[node].heaviest()
                raise NodeFault("budget", self.budget.too_many_bytes, queries=heaviest)
            raise NodeFault("budget", self.budget.too_many_bytes, (node,))

    def candidates(self) -> dict[int, int]:
        """What each node has formed; of nodes that step together each counts all."""
        formed: Counter[int] = Counter()
        for nodes, count in self._candidates.items():
            formed.update(dict.fromkeys(nodes, count))
        return dict(formed)

    def account(self, node: int, make: Callable[[], Account]) -> Account:
        """The account of a shared node, opened at first: it says for whom the node emits."""
        account = self._accounts.setdefault(node, make())
        return cast("Account", account)


class NodesAtWork:
    """The context of nodes at work; entered for every batch and node, so it is no generator."""

    __slots__ = ("_before", "_meter", "_nodes")

    def __init__(self, meter: WorkMeter, nodes: tuple[int, ...]) -> None:
        self._meter, self._nodes = meter, nodes
        self._before: tuple[int, ...] = ()

    def __enter__(self) -> None:
        self._before = self._meter.swap(self._nodes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fault: NodeFault | None = None
        if isinstance(error, MemoryError):
            fault = self._meter.memory_fault(error)
        elif isinstance(error, FunctionFault):
            fault = NodeFault("function", error.message, self._nodes, calls=(Called(error.function),))
        elif isinstance(error, Exception) and not isinstance(error, (NodeFault, SeineError, OSError)):
            fault = NodeFault("error", _words(error), self._nodes)
        self._meter.swap(self._before)
        if fault is not None:
            raise fault from error


def _words(error: Exception) -> str:
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"raised {message[:_MOST_REASON]}"


_meter: ContextVar[WorkMeter | None] = ContextVar("meter", default=None)


def spend_candidates(count: int) -> None:
    """Count candidates before anything is made of them; without a meter nobody counts."""
    meter = _meter.get()
    if meter is not None:
        meter.formed(count)


def uncounted(count: int) -> None:
    """Form candidates that are counted elsewhere, for the queries that they are formed for."""


def budget_of_a_query() -> WorkBudget | None:
    """What a shared node may spend on one query in a step; None if nobody counts."""
    meter = _meter.get()
    return None if meter is None else meter.budget


def byte_account(node: int, make: Callable[[], Account]) -> Account:
    """Where a shared node notes for whom it emits, in the task at hand; without a meter nobody reads it."""
    meter = _meter.get()
    return make() if meter is None else meter.account(node, make)


_PAGE = resource.getpagesize()
_ROOM_TO_TELL = 64_000_000  # bytes
_RESIDENT, _SHARED, _DATA = 1, 2, 5  # fields of /proc/self/statm, in pages


@dataclass(frozen=True)
class WorkerMemory:
    """The limit in bytes, and how much the process may map for it."""

    limit: int
    mapped: int

    @property
    def too_much(self) -> str:
        return f"took more than the {self.limit // 1_000_000:,} MB of memory that a worker may take"

    def taken(self) -> int:
        """The bytes that the process has to itself."""
        pages = _pages()
        return (pages[_RESIDENT] - pages[_SHARED]) * _PAGE

    def free(self) -> int:
        """The bytes that it may still ask for."""
        return max(0, self.mapped - _pages()[_DATA] * _PAGE)

    def give_room(self) -> None:
        """Let the process have a little more, so that it can tell what it was refused before it ends."""
        bound_process(resource.RLIMIT_DATA, self.mapped + _ROOM_TO_TELL)


_held: WorkerMemory | None = None


def held_memory() -> WorkerMemory | None:
    """What this process may take; None if it is not held."""
    return _held


def hold_memory(limit: int) -> None:
    """Let this process take no more than so many bytes, 0: as many as there are; it may be called again."""
    global _held
    if limit == (0 if _held is None else _held.limit) or not os.path.exists("/proc/self/statm"):
        return
    if limit == 0:
        _held = None
        bound_process(resource.RLIMIT_DATA, None)
        return
    pages = _pages()
    room = max(0, limit - (pages[_RESIDENT] - pages[_SHARED]) * _PAGE)
    mapped = bound_process(resource.RLIMIT_DATA, pages[_DATA] * _PAGE + room)
    _held = WorkerMemory(limit, mapped)


def _pages() -> list[int]:
    with open("/proc/self/statm", "rb") as file:
        return [*map(int, file.read().split())]
