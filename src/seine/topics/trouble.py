"""What goes wrong between a client and a broker, in words of ours."""

from __future__ import annotations

from seine.errors import RunError


class BrokerSilent(RunError):
    """A broker that does not answer: nobody's fault, so the same is tried again."""


class LostRecords(RunError):
    """Records that a broker does not have any more, and that were not read yet."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Kafka does not have all that was to be read: {reason}")


class UnknownTopic(RunError):
    """A topic that is not there."""

    def __init__(self, topic: str, stream: str | None = None) -> None:
        super().__init__(
            f"there is no topic '{topic}'" + (f", which stream {stream} reads" if stream else "")
        )


class UnmatchedPattern(UnknownTopic):
    """A pattern that no topic matches."""

    def __init__(self, pattern: str) -> None:
        RunError.__init__(self, f"no topic matches the pattern '{pattern}'")


class RemadeTopic(RunError):
    """A topic that is another one by now, under the name of one that was read."""

    def __init__(self, topic: str, stream: str) -> None:
        super().__init__(
            f"topic '{topic}' of stream {stream} was deleted and made again since it was read",
            hint="what was not read of the old one is gone; begin with another checkpoint",
        )
