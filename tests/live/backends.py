# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the backends against each other: sleeping threads, captured from files, through BPF, and from files again."""
import collections
import json
import subprocess

from harness import Skip, expect, expect_equal

# What passes while a thread sleeps.
AGES = {"acct_elapsed_ns"}
# Columns that say how a row was read, not what; and those that a job of its own reads, whatever the backend, for as
# long as it has time.
OURS = {"self", "smaps_rollup_kb", "command", "command_line"}


def capture(ctl, directory, backend):
    """The rows of a capture by thread, and its head."""
    file = directory / f"{backend}.ctprof.zst"
    file.unlink(missing_ok=True)
    result = ctl("capture", "--backend", backend, "--output", str(file), "--smaps=none", "--no-heap")
    if result.status != 0 and backend == "bpf":
        raise Skip(result.err.strip())
    expect_equal(result.status, 0, result.err)
    text = subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout
    document = json.loads(text)
    expect_equal(document["end"]["backend"], backend)
    columns = document["threads"]["columns"]
    rows = [dict(zip(columns, cells)) for cells in document["threads"]["rows"]]
    return {(row["tgid"], row["tid"]): row for row in rows}, document


def is_between(first, value, last):
    return all(isinstance(x, int) for x in (first, value, last)) and min(first, last) <= value <= max(first, last)


def compare(ctl, directory, pids):
    """Counts by column: equal; between, where the files differ; more, what BPF alone tells. Anything else fails."""
    first, _ = capture(ctl, directory, "procfs")
    through, document = capture(ctl, directory, "bpf")
    last, _ = capture(ctl, directory, "procfs")
    counts = collections.defaultdict(collections.Counter)
    for key, row in first.items():
        if key[0] not in pids:
            continue
        expect(key in through and key in last, "thread", key, "is missing")
        for column, before in row.items():
            value, after = through[key].get(column), last[key].get(column)
            if column in OURS:
                continue
            if before is None and after is None:
                counts[column]["more"] += value is not None
            elif value == before == after:
                counts[column]["equal"] += 1
            else:
                expect(before is None or after is None or is_between(before, value, after),
                       f"{column} of {key}: {value!r}, files say {before!r} before and {after!r} after")
                expect(before == after or column in AGES or row["state"] != last[key]["state"] or
                       is_between(before, value, after), f"{column} of {key}: {value!r}, files say {before!r}")
                counts[column]["between"] += 1
    return counts, document
