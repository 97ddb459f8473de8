"""Texts that do harm when they are reversed, once this is imported, in workers alone.

It stands for whatever a function may do to the process that computes it.
"""

import os
import signal
import sys
import time

if os.environ.get("SPARK_ENV_LOADED") or "seine.spark.daemon" in " ".join(sys.orig_argv):
    import numpy as np
    import pyarrow as pa

    from seine.evaluate.evaluate import KERNELS

    _reverse = KERNELS["reverse"]
    _taken = []

    def _take_memory():
        while True:
            _taken.append(np.ones(10_000_000))

    _HARM = {
        "dies": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "exits": lambda: os._exit(0),
        "hangs": lambda: time.sleep(10_000),
        "takes": _take_memory,
    }

    def _harmful(call, arguments):
        texts = arguments[0]
        known = {*(texts.to_pylist() if isinstance(texts, (pa.Array, pa.ChunkedArray)) else [texts.as_py()])}
        for name, harm in _HARM.items():
            if name in known:
                harm()
        return _reverse(call, arguments)

    KERNELS["reverse"] = _harmful
