"""How far a pipeline has come, as its folder says."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from seine.runtime.output.batch_log import BatchRecord
from seine.storage.local import LocalStore
from seine.storage.log import Log
from seine.typed_json import msgpack_decoder
from tests.support.power_cuts import Image


def last_delivered(folder: Path | str) -> int:
    """The last entry of a pipeline that counts; -1 if none does."""
    records = Log(LocalStore(str(folder)), "log").read()
    return _entry_of(records[-1].content) if records else -1


def last_delivered_in(image: Image, folder: str) -> int:
    """The same of what a disk holds, where a pipeline lives in a folder."""
    log = {path: content for path, content in image.items() if path.startswith(f"{folder}/log/")}
    contents = [(content or b"").partition(b"\n")[2] for _, content in sorted(log.items())]
    return max((_entry_of(content) for content in contents if content), default=-1)


def _entry_of(content: bytes) -> int:
    return msgpack_decoder(BatchRecord).decode(content).totals.entry


def wait_for_batch(
    folder: Path, before: int, process: subprocess.Popen[bytes], seconds: float = 240.0
) -> None:
    """Until a micro-batch has been committed since the entry `before`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if last_delivered(folder) != before:
            return
        time.sleep(0.05)
