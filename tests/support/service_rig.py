"""A service whose micro-batches run in this process, by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.runtime.option_secrets import OptionSecrets
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';\n"
OTHER = "CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 't.jsonl';\n"


class Rig:
    """A service with its source beside it; `run` does what there is to do."""

    def __init__(
        self,
        folder: Path,
        secrets: Mapping[str, str] | None = None,
        keep: RetentionLimit | None = None,
    ) -> None:
        self.folder, self._keep = folder, keep
        self._secrets = OptionSecrets(secrets, environment=False)
        self.depth, self.reach = 2, EVERYWHERE
        self.open()

    def open(self) -> None:
        options = ServiceOptions(depth=self.depth, secrets=self._secrets, keep=self._keep, reach=self.reach)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.host = LocalHost(self.service.deployment)

    def register(self, text: str, **options: Any) -> Any:
        return self.service.registrar.register(text, file="x.sql", folder=str(self.folder), **options)

    def feed(self, *values: int, stream: str = "s", ts: int = 1) -> None:
        with (self.folder / f"{stream}.jsonl").open("a") as file:
            file.writelines(json.dumps({"a": value, "ts": ts}) + "\n" for value in values)

    def run(self) -> None:
        while self.service.driver.run_some(self.host.run):
            pass

    def records(self, query: str) -> list[Any]:
        page = read_records(self.service.sink.index, query, 0)
        return [json.loads(line)["row"] for line in page.lines.splitlines()]

    def crash(self) -> None:
        """Leave everything as a kill would: nothing is closed in order, only the lock goes."""
        self.service._lock.release()
        self.service.driver.close()
        self.open()


def rig_of_two_streams(folder: Path, secrets: Mapping[str, str] | None = None) -> Iterator[Rig]:
    """A service with the streams s and t, for a fixture."""
    for name in ("s", "t"):
        (folder / f"{name}.jsonl").touch()
    rig = Rig(folder, secrets)
    rig.register(STREAM + OTHER)
    yield rig
    rig.service.close()
