"""Functions that a user should not have written: one never returns, one ends its process."""

import os
import time

import seine


@seine.function(arguments=("STRING",), result="STRING")
def hangs(text):
    while "hang" in text.to_pylist():
        time.sleep(1)
    return text


@seine.function(arguments=("STRING",), result="STRING")
def dies(text):
    if "die" in text.to_pylist():
        os._exit(1)
    return text
