"""Options of Spark's Kafka source as settings of librdkafka: each means the same, or is not taken."""

from __future__ import annotations

import pytest

from seine.service.source_gate import ALLOWED
from seine.topics.client_settings import NoCounterpart, client_settings
from seine.topics.topic_consumer import TopicConsumer

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\'b;c";'


def test_a_login_of_java_is_a_user_and_a_password() -> None:
    settings = client_settings(
        {
            "subscribe": "bids",
            "kafka.bootstrap.servers": "b:9092",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": PLAIN,
            "kafka.ssl.endpoint.identification.algorithm": "",
        }
    )
    assert settings == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "a'b;c",
        "ssl.endpoint.identification.algorithm": "none",
    }
    TopicConsumer(settings, 1.0).close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kafka.sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"),
        ("kafka.sasl.jaas.config", PLAIN.replace('password="', 'token="')),
        ("kafka.sasl.jaas.config", PLAIN.replace("a'b;c", 'a\\"b')),
        ("kafka.sasl.mechanism", "GSSAPI"),
        ("kafka.security.protocol", "SASL_SSL"),
        ("kafka.ssl.truststore.location", "store.jks"),
        ("kafka.ssl.keystore.type", "PKCS12"),
        ("kafka.plugin.library.paths", "evil.so"),
        ("kafka.interceptor.classes", "x.Y"),
        ("subscribePattern", "b.*"),
        ("minPartitions", "8"),
    ],
)
def test_what_has_no_counterpart_is_named(key: str, value: str) -> None:
    with pytest.raises(NoCounterpart, match=f"^{key}$"):
        client_settings({"kafka.bootstrap.servers": "b:9092", key: value})


def test_every_option_that_a_service_takes_is_mapped_or_left_to_the_connector() -> None:
    """And what is mapped is a setting that the client knows."""
    values = {"kafka.client.dns.lookup": "use_all_dns_ips", "kafka.isolation.level": "read_uncommitted"}
    values |= {"kafka.security.protocol": "SSL", "kafka.sasl.mechanism": "SCRAM-SHA-512"}
    values |= {"kafka.sasl.jaas.config": PLAIN.replace("Plain", "Scram")}
    values |= {"kafka.ssl.endpoint.identification.algorithm": "https"}
    mapped = set()
    for option in sorted(ALLOWED["kafka"]):
        try:
            settings = client_settings({option: values.get(option, "100000")})
        except NoCounterpart:
            continue
        mapped.add(option)
        TopicConsumer({"bootstrap.servers": "b:9092", **settings}, 1.0).close()
    assert set(values) <= mapped
    assert {"kafka.fetch.max.wait.ms", "kafka.fetch.max.bytes", "kafka.max.poll.records"} <= mapped


def test_keys_as_texts_are_taken_over() -> None:
    options = {
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.key": "KEY",
        "kafka.ssl.keystore.certificate.chain": "CHAIN",
        "kafka.ssl.truststore.type": "pem",
        "kafka.ssl.truststore.location": "ca.pem",
    }
    assert client_settings(options) == {
        "ssl.key.pem": "KEY",
        "ssl.certificate.pem": "CHAIN",
        "ssl.ca.location": "ca.pem",
    }
