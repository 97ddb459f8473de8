"""A service that is asked over HTTP and run by hand, for tests."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.service.client import Client
from seine.service.folder import ServiceFolder
from seine.service.http.listening import Listening
from seine.service.http.server import Server
from seine.service.service import Service, ServiceOptions
from tests.support.everywhere import EVERYWHERE


class HttpRig:
    """A service in this process: `ask` sends requests over HTTP, `feed` runs its micro-batches here."""

    def __init__(
        self, folder: Path, depth: int = 1, keep: RetentionLimit | None = None, **listening: Any
    ) -> None:
        (folder / "s.jsonl").touch()
        self.folder = folder
        options = ServiceOptions(depth=depth, keep=keep, reach=EVERYWHERE)
        self.service = Service(ServiceFolder(str(folder / "state")), options)
        self.server = Server(self.service, Listening(**listening))
        self.client = Client(self.server.url, listening.get("token"))
        self.host = LocalHost(self.service.deployment)

    def register(self, text: str, **options: Any) -> Any:
        return self.client.register(text, file="x.sql", folder=str(self.folder), **options)

    def feed(self, *values: int) -> None:
        with (self.folder / "s.jsonl").open("a") as file:
            file.writelines(json.dumps({"a": value, "ts": 1}) + "\n" for value in values)
        self.run()

    def run(self) -> None:
        """Run micro-batches until there is nothing left to read."""
        while self.service.driver.run_some(self.host.run):
            pass

    def ask(
        self, method: str, path: str, body: str | None = None, **headers: str
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.server.url.removeprefix("http://"), timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if (answer.getheader("Content-Type") or "").startswith(("text/", "image/")):
            return answer.status, content.decode(), answer.headers
        assert answer.getheader("Content-Type") in ("application/json", "application/x-ndjson")
        return answer.status, json.loads(content) if content else None, answer.headers

    def connect(self, address: str = "") -> socket.socket:
        """A raw connection to the server, perhaps from another address of this machine."""
        host, port = self.server.url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), 10, (address, 0) if address else None)

    def close(self) -> None:
        self.service.stop()
        self.server.close()
        self.service.close()
