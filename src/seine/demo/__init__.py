"""The bundled demonstrations: alerts over made-up transfers of money, and searches over feeds of films."""

from seine.demo.alerts import DESCRIPTIONS, write_demo
from seine.demo.film_searches import write_search_demo

__all__ = ["DESCRIPTIONS", "write_demo", "write_search_demo"]
