"""Options of Spark's Kafka source as settings of librdkafka, the client that tasks read topics with.

    kafka.fetch.max.wait.ms          fetch.wait.max.ms
    kafka.sasl.jaas.config           sasl.username, sasl.password; of OAUTHBEARER client, secret and scope
    kafka.ssl.truststore.location    a file of PEM; a store of Java's is refused

Law: an option is mapped to what means the same, or passed over because it says nothing of reading, or
refused. Options are listed, so that none can name a plugin or a file by chance.

How tasks read the topics that a stream declares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime

from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.intake.allowed_hosts import Hosts
from seine.intake.arrived_records import asks_for_arrival, only_topic
from seine.intake.spark_feed import SourceBranch
from seine.topics.topic_client import EARLIEST, LATEST
from seine.topics.topic_consumer import require_client
from seine.topics.topic_records import ChosenTopics, RecordColumns, TopicReading

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
    | {"sasl.login.callback.handler.class"}  # Java's way to say that tokens come from an address
)
_OF_SPARK = frozenset({"subscribe", "subscribepattern", "assign", "failondataloss", "maxoffsetspertrigger"})
_OAUTH = "OAUTHBEARER"
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", _OAUTH)
_TOKENS = {
    "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope": "sasl.oauthbearer.scope",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
_JAAS = re.compile(
    r"\s*[\w.]*(?P<kind>Plain|Scram|OAuthBearer)LoginModule\s+required\s+"
    r"(?P<options>(?:\w+\s*=\s*(?:\"[^\"\\]*\"|[^\s\";]+)\s*)+);\s*"
)
_JAAS_OPTION = re.compile(r"(\w+)\s*=\s*(?:\"([^\"\\]*)\"|([^\s\";]+))")
_PEM = "PEM"


_LOGINS = "certificates are PEM (kafka.ssl.truststore.type 'PEM'), logins PLAIN, SCRAM or OAUTHBEARER"


class UnreadOption(RunError):
    """An option that topics are not read with."""

    def __init__(self, option: str, hint: str = "leave it out") -> None:
        super().__init__(f"topics cannot be read with option {option} as given", hint=hint)


def _refuse_login(option: str) -> UnreadOption:
    """Kerberos, stores of Java's, logins of another form."""
    return UnreadOption(option, f"no Kerberos and no key stores of Java's: {_LOGINS}")


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Settings that mean what the options of a stream mean; refuses those that have none.

    >>> client_settings({"subscribe": "bids", "kafka.bootstrap.servers": "b:9092", "kafka.client.id": "us"})
    {'bootstrap.servers': 'b:9092', 'client.id': 'us'}
    >>> client_settings({"minPartitions": "8"})
    Traceback (most recent call last):
    seine.topics.client_settings.UnreadOption: topics cannot be read with option minPartitions as given
      hint: leave it out
    """
    named = {key.lower(): value for key, value in options.items()}
    settings: dict[str, str] = {}
    for key, value in options.items():
        if not key.lower().startswith(PREFIX):
            if key.lower() not in _OF_SPARK:
                raise UnreadOption(key)
            continue
        settings |= _mapped(key.lower()[len(PREFIX) :], value, named)
    if settings.get("security.protocol", "").upper().startswith("SASL") and "sasl.mechanism" not in settings:
        raise _refuse_login("kafka.security.protocol")  # Kerberos, by default
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
    if name == "sasl.mechanism":
        return _mechanism(value)
    if name in _TOKENS:
        return {_TOKENS[name]: value}
    if name == "sasl.jaas.config":
        return _login(value)
    if name.startswith(("ssl.keystore.", "ssl.truststore.")):
        return _store(name, value, options)
    raise _refuse_login(PREFIX + name) if name.startswith(("sasl.", "ssl.")) else UnreadOption(PREFIX + name)


def _mechanism(value: str) -> dict[str, str]:
    if value not in _MECHANISMS:
        raise _refuse_login(f"{PREFIX}sasl.mechanism")
    return {"sasl.mechanism": value} | ({"sasl.oauthbearer.method": "oidc"} if value == _OAUTH else {})


def _login(text: str) -> dict[str, str]:
    """User and password of a login module of Java's; of OAUTHBEARER the client that asks for tokens.

    >>> _login('org.apache.kafka.common.security.scram.ScramLoginModule required username=u password="p q";')
    {'sasl.username': 'u', 'sasl.password': 'p q'}
    """
    match = _JAAS.fullmatch(text)
    given = {} if match is None else {key: a or b for key, a, b in _JAAS_OPTION.findall(match["options"])}
    if match is not None and match["kind"] == "OAuthBearer":
        return _token_client(given)
    if set(given) != {"username", "password"}:
        raise _refuse_login(f"{PREFIX}sasl.jaas.config")
    return {f"sasl.{key}": value for key, value in given.items()}


def _token_client(given: Mapping[str, str]) -> dict[str, str]:
    """
    >>> _token_client({"clientId": "us", "extension_pool": "7"})
    {'sasl.oauthbearer.client.id': 'us', 'sasl.oauthbearer.extensions': 'pool=7'}
    """
    names = {"clientId": "client.id", "clientSecret": "client.secret", "scope": "scope"}
    more = {key.removeprefix("extension_"): value for key, value in given.items() if key not in names}
    if len(more) != sum(key.startswith("extension_") for key in given):
        raise _refuse_login(f"{PREFIX}sasl.jaas.config")
    settings = {f"sasl.oauthbearer.{names[key]}": value for key, value in given.items() if key in names}
    extensions = ",".join(f"{key}={value}" for key, value in more.items())
    return settings | ({"sasl.oauthbearer.extensions": extensions} if extensions else {})


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
        raise _refuse_login(PREFIX + name)
    if name == f"{kind}.type":
        return {}
    if name not in _STORES:
        raise _refuse_login(PREFIX + name)
    return dict.fromkeys(_STORES[name], value)


OFFSETS_AT_ONCE = 1_000_000  # of a stream in a micro-batch, unless anything else is said


def topic_reading(
    stream: StreamDef,
    options: Mapping[str, str],
    batch_rows: int | None = None,
    born: int = 0,
    hosts: Hosts | None = None,
) -> TopicReading | None:
    """How tasks read a stream of topics with these options; None of another format."""
    if stream.reader is None or stream.reader.format != "kafka":
        return None
    require_client()
    settings = client_settings(options)
    named = {key.lower(): value for key, value in options.items()}
    return TopicReading(
        SourceBranch(stream.name, born),
        settings,
        _chosen(named),
        _first(dict(stream.source.options).get("start", "earliest") if stream.source else "earliest"),
        int(named.get("maxoffsetspertrigger") or batch_rows or OFFSETS_AT_ONCE),
        RecordColumns(topic=only_topic(stream) is None, time=asks_for_arrival(stream)),
        hosts,
    )


def _chosen(options: Mapping[str, str]) -> ChosenTopics:
    """Which topics the options of a stream name.

    >>> _chosen({"subscribe": "b, a,b"}).names, _chosen({"assign": '{"a": [0, 2]}'}).partitions
    (('a', 'b'), {'a': (0, 2)})
    """
    if "subscribepattern" in options:
        return ChosenTopics(pattern=options["subscribepattern"])
    if "assign" in options:
        return _assigned(options["assign"])
    return ChosenTopics(tuple(sorted({topic.strip() for topic in options["subscribe"].split(",")} - {""})))


def _assigned(text: str) -> ChosenTopics:
    try:
        places: dict[str, list[int]] = json.loads(text)
        partitions = {topic: tuple(sorted({int(place) for place in places[topic]})) for topic in places}
    except (ValueError, TypeError):
        partitions = {}
    if not partitions or not all(partitions.values()):
        raise UnreadOption("assign", """write assign '{"topic": [0, 1]}'""")
    return ChosenTopics(tuple(sorted(partitions)), partitions=partitions)


def _first(start: str) -> int:
    """The time of the first record, in milliseconds.

    >>> _first("1970-01-01T00:00:02Z"), _first("earliest")
    (2000, -2)
    """
    named = {"earliest": EARLIEST, "latest": LATEST}
    return named[start] if start in named else int(datetime.fromisoformat(start).timestamp() * 1000)
