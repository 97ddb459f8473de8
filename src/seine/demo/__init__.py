"""The bundled demonstration: standing queries (alerts) over generated money transfers."""

from seine.demo.alerts import DESCRIPTIONS, write_demo

__all__ = ["DESCRIPTIONS", "write_demo"]
