# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes files that are not snapshots, each wrong in one way, and one of the prior tool's shape."""
import copy
import json
import subprocess


def compress(content):
    return subprocess.run(["zstd", "-qc", "-3"], input=content, capture_output=True, check=True).stdout


def thread(tid, **values):
    """One thread as the prior tool writes it: every member, zero for what was not read."""
    names = (
        "run_time_ns wait_time_ns timeslices voluntary_csw nonvoluntary_csw nr_wakeups nr_wakeups_local "
        "nr_wakeups_remote nr_wakeups_sync nr_wakeups_migrate nr_wakeups_affine nr_wakeups_affine_attempts "
        "nr_migrations nr_forced_migrations nr_failed_migrations_affine nr_failed_migrations_running "
        "nr_failed_migrations_hot wait_sum wait_count wait_max voluntary_sleep_ns sleep_max block_sum block_max "
        "iowait_sum iowait_count exec_max slice_max allocated_bytes deallocated_bytes minflt majflt "
        "utime_clock_ticks stime_clock_ticks").split()
    row = {"tid": tid, "tgid": 100, "pcomm": "old", "comm": f"old-{tid}", "cgroup": "/a",
           "start_time_clock_ticks": 5, "policy": "SCHED_OTHER", "nice": -5, "cpu_affinity": [0, 1, 3],
           "processor": 1, "state": "S", "ext_enabled": False}
    row.update(dict.fromkeys(names, 0))
    row.update(priority=20, rt_priority=0, core_forceidle_sum=0, fair_slice_ns=0, nr_threads=2 if tid == 100 else 0,
               smaps_rollup_kb={"Rss": 12} if tid == 100 else {})
    row.update(dict.fromkeys("rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes".split(), 0))
    for category in "cpu blkio swapin freepages thrashing compact wpcopy irq".split():
        for part in "count total_ns max_ns min_ns".split():
            row[f"{category}_delay_{part}"] = 0
    row.update(hiwater_rss_bytes=4096, hiwater_vm_bytes=8192)
    row.update(values)
    return row


def version_0():
    half = {"avg10": 0, "avg60": 0, "avg300": 0, "total_usec": 0}
    psi = {resource: {"some": half, "full": half} for resource in ("cpu", "memory", "io", "irq")}
    return {"captured_at_unix_ns": 1700000000000000000, "host": None,
            "threads": [thread(100, run_time_ns=1000), thread(101, run_time_ns=2000)],
            "cgroup_stats": {}, "probe_summary": None, "parse_summary": None, "taskstats_summary": None,
            "psi": psi, "sched_ext": None}


def _with(change):
    document = copy.deepcopy(version_0())
    change(document)
    return compress(json.dumps(document).encode())


def bad_files(good):
    """Content by kind; @good is a whole snapshot file."""
    text = json.dumps(version_0())
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0x10
    return {
        "empty": b"",
        "one-byte": good[:1],
        "half": good[:len(good) // 2],
        "no-trailer-end": good[:-1],
        "no-head": good[:good.rindex(b"\x5c\x2a\x4d\x18")],
        "flipped": bytes(flipped),
        "flipped-last": good[:-1] + bytes([good[-1] ^ 1]),
        "appended": good + b"x",
        "text": b"this is no snapshot\n",
        "json-not-zstd": text.encode(),
        "zstd-of-garbage": compress(bytes(range(256)) * 16),
        "zstd-of-nothing": compress(b""),
        "zstd-cut": compress(text.encode())[:-5],
        "bomb-blanks": compress(b" " * (64 << 20)),
        "bomb-digits": compress(b"[" + b"1," * (8 << 20)),
        "array": compress(b"[]"),
        "no-threads": compress(b'{"captured_at_unix_ns":1}'),
        "count-is-text": _with(lambda d: d["threads"][0].update(minflt="5")),
        "count-is-negative": _with(lambda d: d["threads"][0].update(minflt=-1)),
        "count-is-real": _with(lambda d: d["threads"][0].update(minflt=1.5)),
        "two-to-the-64": _with(lambda d: d["threads"][0].update(minflt=1 << 64)),
        "threads-is-text": _with(lambda d: d.update(threads="none")),
        "tid-is-null": _with(lambda d: d["threads"][0].update(tid=None)),
        "duplicate-key": compress(text.replace('"minflt": 0', '"minflt": 0, "minflt": 1', 1).encode()),
        "nested": compress(b'{"x":' + b"[" * 10000 + b"]" * 10000 + b"}"),
        "invalid-utf8": compress(text.replace("old-100", "old-\udcff", 1).encode("utf-8", "surrogateescape")),
        "trailing": compress(text.encode() + b"{}"),
        "too-new": compress(b'{"formatVersion":99,' + text[1:].encode()),
    }
