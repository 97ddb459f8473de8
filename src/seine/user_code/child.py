"""The process that users' code runs in: it answers one request after the other until its parent is gone.

It ends itself if one takes too long, should its parent be gone by then. It leads a group of processes, which
ends with it. A copy that users' code forks answers nothing.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from seine.process_limits import bound_process
from seine.user_code.code_answers import Answering, LoadError
from seine.user_code.messages import EndedError, Header, Link

_ORPHAN_SECONDS = 5.0  # beyond its limit, before a process ends itself


def main(end: int, most_bytes: int) -> None:
    """Answer what comes by a socket, in at most so much memory of its own, or what the system allows."""
    os.dup2(2, 1)  # what users' code prints is no answer, and no result
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pa.set_memory_pool(pa.system_memory_pool())
    bound_process(resource.RLIMIT_DATA, most_bytes, for_good=True)
    os.set_inheritable(end, False)
    link, answering, alone_in = Link(socket.socket(fileno=end)), Answering(), os.getpid()
    os.register_at_fork(after_in_child=link.close)  # the parent talks to one process
    while True:
        try:
            header, batches = link.receive()
        except (EndedError, ConnectionError):
            os.killpg(alone_in, signal.SIGKILL)  # with what users' code has started
        signal.setitimer(signal.ITIMER_REAL, header["seconds"] + _ORPHAN_SECONDS)
        answer, columns = _answered(answering, header, batches)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != alone_in:  # users' code has forked, and this is the copy
            os._exit(0)
        with suppress(ConnectionError):  # then nothing more comes either
            link.send(answer | {"number": header["number"]}, columns)


def _answered(
    answering: Answering, header: Header, batches: Sequence[pa.RecordBatch]
) -> tuple[Header, list[pa.RecordBatch]]:
    before = time.process_time_ns()
    try:
        answer = answering.answer(header, batches)
    except MemoryError:
        return {"memory": True}, []
    except LoadError as error:
        return {"load": str(error)}, []
    columns = [pa.RecordBatch.from_arrays([column], ["c"]) for column in answer.columns]
    return {"notices": answer.notices, "cpu": time.process_time_ns() - before}, columns
