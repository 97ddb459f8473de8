"""The bundled demonstrations, of made-up data: alerts on transfers, searches of films, news, auctions."""

from seine.demo.alerts import DESCRIPTIONS, write_demo
from seine.demo.film_searches import write_search_demo
from seine.demo.news import FOLLOWED, write_news

__all__ = ["DESCRIPTIONS", "FOLLOWED", "write_demo", "write_news", "write_search_demo"]
