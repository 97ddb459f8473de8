"""Python imports this first, with its folder on the path."""

import deadly_reverse  # noqa: F401
