"""Bundled demonstrations: made-up data, real alerts."""

from seine.demo.alerts import DESCRIPTIONS, write_demo

__all__ = ["DESCRIPTIONS", "write_demo"]
