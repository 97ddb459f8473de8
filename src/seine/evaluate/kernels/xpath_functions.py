"""Kernels of xpath_string and its like: each distinct document once."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.documents.xpath_values import (
    xpath_boolean,
    xpath_double,
    xpath_int,
    xpath_long,
    xpath_steps,
    xpath_string,
)
from seine.evaluate.kernels.datum import Kernel, with_constants
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.strings import map_distinct


def _over_documents(function: Callable[[str, str], object]) -> Kernel:
    def kernel(call: Call, documents: pa.Array, expression: str) -> pa.Array:
        def of_text(text: str | None) -> object:
            if text is None:
                return None
            spend(steps=xpath_steps(text, expression), constants=[expression])
            return function(text, expression)

        return map_distinct(of_text, documents, call.type.arrow())

    return with_constants(kernel, 1)


KERNELS: dict[str, Kernel] = {
    "xpath_string": _over_documents(xpath_string),
    "xpath_int": _over_documents(xpath_int),
    "xpath_long": _over_documents(xpath_long),
    "xpath_double": _over_documents(xpath_double),
    "xpath_boolean": _over_documents(xpath_boolean),
}
