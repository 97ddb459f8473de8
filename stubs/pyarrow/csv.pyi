from collections.abc import Mapping, Sequence
from typing import IO

from pyarrow import DataType, NativeFile, Schema, Table

class ReadOptions:
    def __init__(
        self, *, column_names: Sequence[str] | None = None, block_size: int | None = None
    ) -> None: ...

class ParseOptions:
    def __init__(self, *, delimiter: str | None = None) -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        column_types: Mapping[str, DataType] | Schema | None = None,
        null_values: Sequence[str] | None = None,
        strings_can_be_null: bool | None = None,
        quoted_strings_can_be_null: bool | None = None,
    ) -> None: ...

def read_csv(
    input_file: str | IO[bytes] | NativeFile,
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> Table: ...
