"""A reach without bounds, for services of tests whose sources lie in folders of their own."""

from __future__ import annotations

from seine.service.access.allow_list import AllowList

EVERYWHERE = AllowList(("/",), ("*",), ("/",), ("*",))
