from seine.local import LocalResult


def run_local(path, *, folder=None, batch_rows=None, buckets=2) -> LocalResult:
    from seine.local import run_local as real

    return real(path, batch_rows=batch_rows, buckets=buckets)
