"""Options of Spark's Kafka source as settings of librdkafka, the client that tasks read topics with.

    kafka.fetch.max.wait.ms          fetch.wait.max.ms
    kafka.sasl.jaas.config           sasl.username, sasl.password
    kafka.ssl.truststore.location    none for a store of Java's: Spark's connector reads that stream

Law: an option is mapped to what means the same, or passed over because it says nothing of reading, or the
stream is read by the connector. Options are listed, so that none can name a plugin or a file by chance.

How tasks read the topics that a stream declares, if they do, and not Spark's connector.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import datetime

from seine.algebra.definitions import StreamDef
from seine.intake.allowed_hosts import Hosts
from seine.intake.arrived_records import asks_for_arrival, only_topic
from seine.intake.spark_feed import SourceBranch
from seine.topics.topic_client import EARLIEST, LATEST
from seine.topics.topic_consumer import client_is_here
from seine.topics.topic_records import RecordColumns, TopicReading

PREFIX = "kafka."  # before the names of a client's settings

_SAME = frozenset(
    {"bootstrap.servers", "security.protocol", "client.id", "client.dns.lookup", "isolation.level"}
    | {"fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes", "ssl.key.password"}
    | {"metadata.max.age.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms"}
)
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
}
_SAYS_NOTHING = frozenset(  # of one who reads given ranges, in no group
    {"max.poll.records", "session.timeout.ms", "default.api.timeout.ms"}
)
_OF_SPARK = frozenset({"subscribe", "failondataloss", "maxoffsetspertrigger"})
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS = re.compile(
    r"\s*[\w.]*(?:Plain|Scram)LoginModule\s+required\s+(?P<options>(?:\w+\s*=\s*(?:\"[^\"\\]*\"|[^\s\";]+)\s*)+);\s*"
)
_JAAS_OPTION = re.compile(r"(\w+)\s*=\s*(?:\"([^\"\\]*)\"|([^\s\";]+))")
_PEM = "PEM"


class NoCounterpart(Exception):
    """An option that librdkafka has no setting for; its name."""


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Settings that mean what the options of a stream mean; `NoCounterpart` if there are none.

    >>> client_settings({"subscribe": "bids", "kafka.bootstrap.servers": "b:9092", "kafka.client.id": "us"})
    {'bootstrap.servers': 'b:9092', 'client.id': 'us'}
    >>> client_settings({"subscribePattern": "b.*"})
    Traceback (most recent call last):
    seine.topics.client_settings.NoCounterpart: subscribePattern
    """
    named = {key.lower(): value for key, value in options.items()}
    settings: dict[str, str] = {}
    for key, value in options.items():
        if not key.lower().startswith(PREFIX):
            if key.lower() not in _OF_SPARK:
                raise NoCounterpart(key)
            continue
        settings |= _mapped(key.lower()[len(PREFIX) :], value, named)
    if settings.get("security.protocol", "").upper().startswith("SASL") and "sasl.mechanism" not in settings:
        raise NoCounterpart("kafka.security.protocol")  # Kerberos, by default
    return settings


def _mapped(name: str, value: str, options: Mapping[str, str]) -> dict[str, str]:
    """What one option of Java's client means."""
    if name in _SAYS_NOTHING:
        return {}
    if name in _SAME:
        return {name: value}
    if name in _RENAMED:
        return {_RENAMED[name]: value}
    if name == "ssl.endpoint.identification.algorithm":
        return {name: value or "none"}
    if name == "sasl.mechanism" and value in _MECHANISMS:
        return {name: value}
    if name == "sasl.jaas.config":
        return _login(value)
    if name.startswith(("ssl.keystore.", "ssl.truststore.")):
        return _store(name, value, options)
    raise NoCounterpart(PREFIX + name)


def _login(text: str) -> dict[str, str]:
    """User and password of a login module of Java's.

    >>> _login('org.apache.kafka.common.security.scram.ScramLoginModule required username=u password="p q";')
    {'sasl.username': 'u', 'sasl.password': 'p q'}
    """
    match = _JAAS.fullmatch(text)
    given = {} if match is None else {key: a or b for key, a, b in _JAAS_OPTION.findall(match["options"])}
    if set(given) != {"username", "password"}:
        raise NoCounterpart(f"{PREFIX}sasl.jaas.config")
    return {f"sasl.{key}": value for key, value in given.items()}


_STORES = {
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
}


def _store(name: str, value: str, options: Mapping[str, str]) -> dict[str, str]:
    """Keys and certificates as texts; stores in forms of Java's own have no counterpart.

    >>> _store("ssl.truststore.location", "ca.pem", {"kafka.ssl.truststore.type": "PEM"})
    {'ssl.ca.location': 'ca.pem'}
    """
    kind = ".".join(name.split(".")[:2])
    if options.get(f"{PREFIX}{kind}.type", "").upper() != _PEM:
        raise NoCounterpart(PREFIX + name)
    if name == f"{kind}.type":
        return {}
    if name not in _STORES:
        raise NoCounterpart(PREFIX + name)
    return dict.fromkeys(_STORES[name], value)


_logger = logging.getLogger(__name__)
OFFSETS_AT_ONCE = 1_000_000  # of a stream in a micro-batch, unless anything else is said


def streamed_topics(
    stream: StreamDef,
    options: Mapping[str, str],
    batch_rows: int | None = None,
    born: int = 0,
    hosts: Hosts | None = None,
) -> TopicReading | None:
    """How tasks read a stream of topics with these options; None if it is Spark's connector that reads it."""
    if stream.reader is None or stream.reader.format != "kafka" or not client_is_here():
        return None
    try:
        settings = client_settings(options)
    except NoCounterpart as option:
        _logger.info("Spark's connector reads topics, for option %s", option, extra={"stream": stream.name})
        return None
    named = {key.lower(): value for key, value in options.items()}
    return TopicReading(
        SourceBranch(stream.name, born),
        settings,
        tuple(sorted({topic.strip() for topic in named["subscribe"].split(",")} - {""})),
        _first(dict(stream.source.options).get("start", "earliest") if stream.source else "earliest"),
        int(named.get("maxoffsetspertrigger") or batch_rows or OFFSETS_AT_ONCE),
        RecordColumns(topic=only_topic(stream) is None, time=asks_for_arrival(stream)),
        hosts,
    )


def _first(start: str) -> int:
    """The time of the first record, in milliseconds.

    >>> _first("1970-01-01T00:00:02Z"), _first("earliest")
    (2000, -2)
    """
    named = {"earliest": EARLIEST, "latest": LATEST}
    return named[start] if start in named else int(datetime.fromisoformat(start).timestamp() * 1000)
