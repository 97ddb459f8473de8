"""A store with faults: its power is cut after and within each call, calls fail, and answers are lost.

It notes what a disk may hold at each moment, by three models, and refuses what no store need allow: another
content under a name that was used before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seine.storage.memory import MemoryStore
from seine.storage.store import Content, UnknownOutcomeError, parts_of

Objects = Mapping[str, bytes]

STORE_MODELS = {
    "strict": "what was settled, and nothing else; what was removed since the last settling is there again",
    "torn": "everything, and of what was not settled a half",
    "kill": "everything: a process that was killed, as the control",
}


class StoreCut(NamedTuple):
    """What a store may hold after a power cut, by one model."""

    moment: str
    model: str
    objects: Objects


@dataclass(frozen=True)
class Fault:
    """What happens to a call: an error before it took effect, or, if the answer is `lost`, after it did."""

    error: OSError
    lost: bool = False


class FaultyStore(MemoryStore):
    """A store in memory that notes its cuts while it is `recording`, and fails as it is told to."""

    def __init__(self, objects: Objects | None = None, *, recording: bool = False) -> None:
        super().__init__()
        self.objects.update(objects or {})
        self.cuts: list[StoreCut] = []
        self.calls: list[str] = []  # each as "verb name"
        self.fault: Callable[[int, str], Fault | None] = lambda number, call: None  # asked before each call
        self.beside: Callable[[], None] = lambda: None  # what others do when this settles
        self._recording = recording
        self._removed: dict[str, bytes] = {}  # since the last settling
        self._unsettled: set[str] = set()
        self._used = {name: _digest_of(content) for name, content in self.objects.items()}

    def put(self, name: str, content: Content, *, settled: bool = True) -> None:
        whole = b"".join(parts_of(content))
        assert self._used.setdefault(name, _digest_of(whole)) == _digest_of(whole), f"'{name}' is used twice"

        def effect() -> None:
            super(FaultyStore, self).put(name, whole)
            self._unsettled.discard(name) if settled else self._unsettled.add(name)

        self._call(f"put {name}", effect)

    def swap(self, name: str, content: bytes, before: bytes | None) -> bool:
        return self._call(f"swap {name}", lambda: super(FaultyStore, self).swap(name, content, before))

    def get(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        self.calls.append(f"get {name}")
        return super().get(name, begin, end)

    def delete(self, names: Iterable[str]) -> None:
        gone = [*names]

        def effect() -> None:
            for name in gone:
                if name in self.objects and name not in self._unsettled:
                    self._removed[name] = self.objects[name]
                self._unsettled.discard(name)
            super(FaultyStore, self).delete(gone)

        self._call(f"delete {' '.join(gone)}", effect)

    def settle(self) -> None:
        def effect() -> None:
            self._removed.clear()
            self._unsettled.clear()
            self.beside()

        self._call("settle", effect)

    def cut(self, model: str) -> Objects:
        """What is there if the power goes now."""
        whole = {name: content for name, content in self.objects.items() if name not in self._unsettled}
        if model == "strict":
            return {**self._removed, **whole}
        half = {name: self.objects[name][: len(self.objects[name]) // 2] for name in self._unsettled}
        return {**self.objects, **half} if model == "torn" else dict(self.objects)

    def _call(self, call: str, effect: Callable[[], object]) -> bool:
        fault = self.fault(len(self.calls), call)
        self.calls.append(call)
        if fault is not None and not fault.lost:
            raise fault.error
        answer = effect()
        if self._recording:
            self.cuts += [StoreCut(call, model, self.cut(model)) for model in STORE_MODELS]
        if fault is not None:
            raise fault.error
        return bool(answer)


def lost_answer(name: str = "") -> Fault:
    """A call that takes effect, and nobody hears of it."""
    return Fault(UnknownOutcomeError(110, "the answer was lost", name), lost=True)


def distinct_cuts(cuts: Sequence[StoreCut]) -> list[StoreCut]:
    """The cuts that leave different objects; each the first of its like."""
    seen: dict[bytes, StoreCut] = {}
    for cut in cuts:
        digest = hashlib.blake2b(digest_size=16)
        for name, content in sorted(cut.objects.items()):
            digest.update(name.encode() + b"\0" + _digest_of(content))
        seen.setdefault(digest.digest(), cut)
    return list(seen.values())


def _digest_of(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
