"""Hosts that an operator has named: a name or address, perhaps with a port; patterns are `*.name` and `*`.

A broker of Kafka that may be asked tells its clients who the brokers are, and these may be elsewhere: so
what it names is judged by the same list, before a record is asked for or sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from seine.errors import RunError, SeineError

Hosts = tuple[str, ...]


class ForeignBroker(RunError):
    """A broker that is not on the list, named by one that is."""

    def __init__(self, host: str, port: int, option: str) -> None:
        super().__init__(
            f"a broker there names {host}:{port} as another, which is not allowed",
            hint=f"seine serve {option} {host} allows it",
        )


def refuse_foreign(hosts: Hosts | None, brokers: Iterable[tuple[str, int]], option: str) -> None:
    """Refuse brokers that are not on the list; without a list all are welcome.

    >>> refuse_foreign(("b1", "*.lan:9092"), [("b1", 9093), ("b2.lan", 9092)], "--source-host")
    >>> refuse_foreign(("b1",), [("b1", 9092), ("b2", 9092)], "--source-host")
    Traceback (most recent call last):
    seine.intake.allowed_hosts.ForeignBroker: a broker there names b2:9092 as another, which is not allowed
      hint: seine serve --source-host b2 allows it
    """
    for host, port in brokers:
        if hosts is not None and not names_host(hosts, host, port):
            raise ForeignBroker(host, port, option)


def names_host(allowed: Iterable[str], host: str, port: int | None) -> bool:
    """
    >>> names_host(["LAN"], "lan", 1), names_host(["*.lan"], "lan", 1), names_host(["[::1]:80"], "::1", 80)
    (True, False, True)
    """
    return any(_fits(entry.lower(), host.lower(), port) for entry in allowed)


def _fits(entry: str, host: str, port: int | None) -> bool:
    (name, only), *_ = addresses(entry) or [("", None)]
    if only is not None and only != port:
        return False
    return name == "*" or name == host or (name.startswith("*.") and host.endswith(name[1:]))


def addresses(text: str) -> list[tuple[str, int | None]]:
    """Hosts and ports of a list as Kafka and PostgreSQL write it.

    >>> addresses("a:1, [::1]:2,b")
    [('a', 1), ('::1', 2), ('b', None)]
    """
    given: list[tuple[str, int | None]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?:[A-Za-z_]+://)?(\[[^\]]*\]|[^:]*|[^:]*:[^:]*:.*?)(?::(\d{1,5}))?", part)
        if match is None:
            raise SeineError("this is no list of hosts", hint="write host:port, host:port")
        given.append((match[1].strip("[]"), int(match[2]) if match[2] else None))
    return given
