"""A webhook: a piece is the body of a POST, signed, with a key that is the same whenever it is sent again.

    POST /hook            Content-Type: application/x-ndjson       a line for each record
    Idempotency-Key       <identity of the sink>-<start>-<end>
    Seine-Signature       sha256=<HMAC of the secret over the key, a dot and the body, in hexadecimal>

Law (at least once): a piece is sent until it is answered by 2xx, or given up after so many attempts; whoever
keeps the keys that it has seen sees each record once. No redirect is followed.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from seine.catalog import StoredSink
from seine.errors import SeineError
from seine.postgres_timeouts import SilenceGuard
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkProgress
from seine.sinks.sink_target import SinkTarget

ATTEMPTS, SECONDS = 12, 10.0  # unless the options say otherwise


class WebhookTarget(SinkTarget):
    """Sends pieces to a URL, a connection for each."""

    most_piece = 256 << 10

    def __init__(self, sink: StoredSink, secrets: OptionSecrets) -> None:
        self._sink, self._identity, self._secrets = sink.definition, sink.identity, secrets
        self.attempts = int(sink.definition.option("attempts", str(ATTEMPTS)))
        self._seconds = float(sink.definition.option("timeout", str(SECONDS)))

    def begin(self, progress: SinkProgress) -> None:
        """Look up the secrets."""
        self._options = self._secrets.values(f"sink {self._sink.name}", self._sink.options)

    def write(self, piece: RecordPiece) -> None:
        """Send a piece; an error unless it is accepted."""
        body = b"".join(lines for _, lines in piece.portions)
        status = self._post(body, f"{self._identity}-{piece.start}-{piece.end}")
        if not 200 <= status < 300:
            raise SeineError(f"the webhook answers {status}")

    def _post(self, body: bytes, key: str) -> int:
        parts = urlsplit(self._sink.target)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = self._connection(parts.scheme, parts.hostname or "", parts.port)
        try:
            connection.connect()
            with SilenceGuard(self._seconds) as guard:  # one that sends a byte now and then is cut off, too
                guard.watch(connection.sock.fileno())
                connection.request("POST", path, body, self._headers(body, key))
                return connection.getresponse().status
        except ValueError:  # which repeats the header, and that may be a secret
            raise SeineError(
                "the request cannot be made: a header has a line end or another letter"
            ) from None
        except (OSError, HTTPException) as error:
            raise SeineError(f"the webhook cannot be reached: {error or type(error).__name__}") from None
        finally:
            connection.close()

    def _connection(self, scheme: str, host: str, port: int | None) -> HTTPConnection:
        if scheme.lower() == "https":
            return HTTPSConnection(host, port, timeout=self._seconds, context=ssl.create_default_context())
        return HTTPConnection(host, port, timeout=self._seconds)

    def _headers(self, body: bytes, key: str) -> dict[str, str]:
        signed = hmac.new(self._options["secret"].encode(), key.encode() + b"." + body, hashlib.sha256)
        headers = {
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": key,
            "Seine-Signature": f"sha256={signed.hexdigest()}",
            "User-Agent": "seine",
        }
        if "authorization" in self._options:
            headers["Authorization"] = self._options["authorization"]
        return headers
