"""HTTP clients without manners: silent, slow, endless, deaf, or speaking something else."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from seine.errors import SeineError
from seine.service.client import Client
from tests.chaos.scene import Scene
from tests.support.service_process import ALIVE_SECONDS

_MANY = 60
_TRICKLE_SECONDS = 0.2
_FIRST_WORDS = {
    "silent clients": b"",
    "half a request": b"GET /v1/status HTTP/1.1\r\nHost: a\r\nX-A: ",
    "huge headers": b"GET /v1/status HTTP/1.1\r\nX-A: " + b"a" * 1_000_000,
    "endless body": b"POST /v1/scripts HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n{",
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
    "deaf tails": b"GET /v1/queries/fresh_g/results?from=start&wait=20 HTTP/1.1\r\nHost: a\r\n\r\n" * 20,
    "waiting tails": b"GET /v1/queries/big/results?from=end&wait=30 HTTP/1.1\r\nHost: a\r\n\r\n",
}


class RudeClients:
    """Many connections of one sort, kept for a while; then somebody polite is still answered."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._words = _FIRST_WORDS[name]

    def strike(self, scene: Scene) -> None:
        scene.service.ask(lambda client: client.status())
        url = urlsplit(json.loads((scene.service.state / "service.json").read_text())["url"])
        self._sockets = []
        for _ in range(_MANY):
            with suppress(OSError):
                self._sockets.append(socket.create_connection((str(url.hostname), url.port or 80), 5))
                self._sockets[-1].sendall(self._words)
        self._done = threading.Event()
        self._trickle = threading.Thread(target=self._speak_slowly, daemon=True)
        self._trickle.start()

    def _speak_slowly(self) -> None:
        while self.name == "half a request" and not self._done.wait(_TRICKLE_SECONDS):
            for one in self._sockets:
                with suppress(OSError):
                    one.send(b"a")

    def mend(self, scene: Scene) -> None:
        scene.service.ask(lambda client: client.status())
        self._done.set()
        self._trickle.join()
        for one in self._sockets:
            one.close()


class Crowd:
    """Many who ask for everything at the moment when a killed service is back.

    Its threads meet all that they read for the first time together.
    """

    name = "crowd after a kill"

    def strike(self, scene: Scene) -> None:
        scene.service.send(signal.SIGKILL, group=True)
        scene.service.process.wait()
        scene.service.start()
        self._unanswered: list[str] = []
        self._threads = [
            threading.Thread(target=self._ask, args=(str(scene.service.state), question), daemon=True)
            for question in _QUESTIONS * 4
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, state: str, question: Callable[[Client], object]) -> None:
        deadline, reason = time.monotonic() + ALIVE_SECONDS, ""
        while time.monotonic() < deadline:
            try:
                question(Client(state))
                return
            except (SeineError, OSError) as error:  # it is not up yet
                reason = str(error)
                time.sleep(0.01)
        self._unanswered.append(reason)

    def mend(self, scene: Scene) -> None:
        scene.service.ask(lambda client: client.status())
        for thread in self._threads:
            thread.join()
        assert self._unanswered == []


_QUESTIONS: list[Callable[[Client], object]] = [
    lambda client: client.status(),
    lambda client: client.streams(),
    lambda client: client.queries(),
    lambda client: client.costs("cpu", 10),
    lambda client: client.related("fresh_g"),
    lambda client: next(client.tail("fresh_g", "start", follow=False)),
]


def rude_clients() -> list[RudeClients | Crowd]:
    """Clients of every sort."""
    return [*map(RudeClients, _FIRST_WORDS), Crowd()]
