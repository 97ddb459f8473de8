"""Where the HTTP server listens, whom it lets in, and what it bounds."""

from __future__ import annotations

import hmac
import ipaddress
import ssl
from dataclasses import dataclass

from seine.errors import SeineError
from seine.service.access.principal import LOCAL, ONE_TOKEN, Principal
from seine.service.access.token_file import TokenFile

MOST_BODY = 64 << 20  # bytes of a request's body
_LEAST_TOKEN = 16  # characters


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate, with its chain, and of its private key, as PEM."""

    chain: str
    key: str

    def refuse_unusable(self) -> None:
        """Refuse files that are not what they should be, before anybody connects."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.chain, self.key, password=_refuse_password)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            hint = "--tls-cert and --tls-key are PEM files that belong together, the key without a password"
            raise SeineError(f"the certificate cannot be used: {reason}", hint=hint) from None


def _refuse_password() -> str:
    raise ValueError("the key has a password")


@dataclass(frozen=True)
class Listening:
    """Where to listen, whom to let in, and the limits of connections.

    A client may say nothing, or take nothing of an answer, for `longest_silence` seconds. The head of a
    request must arrive within `longest_head` seconds, however it trickles in; its body may take longer, in
    proportion to its length: `longest_request` seconds for the longest one. An answer must be taken within
    `longest_request` seconds. When there are too many connections, of one address or in all, the one whose
    client has kept us waiting longest makes way for a new one. `token` is the one that may do everything,
    `tokens` are those with a name and a role.
    """

    address: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    tokens: TokenFile | None = None
    certificate: Certificate | None = None
    most_body: int = MOST_BODY
    most_connections: int = 1024
    most_of_an_address: int = 512
    longest_head: float = 10.0
    longest_request: float = 300.0
    longest_silence: float = 30.0

    @property
    def needs_token(self) -> bool:
        """Whether a request without a token is refused."""
        return self.token is not None or (self.tokens is not None and self.tokens.exists())

    def principal(self, given: str | None) -> Principal | None:
        """Who sends a token, or none; None for somebody who may not ask."""
        if not self.needs_token:
            return LOCAL
        if given is None:
            return None
        if self.token is not None and hmac.compare_digest(given.encode(), self.token.encode()):
            return ONE_TOKEN
        return None if self.tokens is None else self.tokens.principal(given)


def refuse_open_door(listening: Listening) -> None:
    """Whoever listens beyond this machine needs a token, and a long one."""
    if not listening.needs_token and not is_loopback(listening.address):
        raise SeineError(
            f"listening on {listening.address} needs a token: "
            "anybody who can reach it could register queries",
            hint="seine token add NAME, --token-file FILE or SEINE_TOKEN; or listen on 127.0.0.1",
        )
    if listening.token is not None and len(listening.token) < _LEAST_TOKEN:
        raise SeineError(
            f"the token is too short to protect anything: {len(listening.token)} characters",
            hint=f"at least {_LEAST_TOKEN}; e.g. openssl rand -hex 32",
        )


def is_loopback(name: str) -> bool:
    """Whether a name or address stands for this machine alone.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, False, False)
    """
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
