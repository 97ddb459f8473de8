"""Knows whether a streaming query has ended, without asking the JVM again and again.

One thread waits in the JVM for the end, so a micro-batch that takes long costs no more than a short one.
"""

from __future__ import annotations

import logging
import threading

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

_logger = logging.getLogger(__name__)


class QueryEnd:
    """Whether a query has ended, or can no longer be waited for: then who asks `has_come` looks why."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._come = threading.Event()
        threading.Thread(target=self._wait, name="seine-query-end", daemon=True).start()

    @property
    def has_come(self) -> bool:
        return self._come.is_set()

    def _wait(self) -> None:
        try:
            self._query.awaitTermination()
        except (Py4JError, PySparkException, ConnectionError) as error:
            _logger.debug("the pipeline is no longer waited for: %s", error)
        finally:
            self._come.set()
