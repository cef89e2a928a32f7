# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the kernel's files and answers on its own, for tests that hold a snapshot against them.

Nothing here is shared with the programs under test: other language, other parsers, other offsets table.
"""
import os
import re
import socket
import struct

POLICIES = {0: "SCHED_OTHER", 1: "SCHED_FIFO", 2: "SCHED_RR", 3: "SCHED_BATCH", 5: "SCHED_IDLE",
            6: "SCHED_DEADLINE", 7: "SCHED_EXT"}

SCHED_COUNTS = ["nr_wakeups", "nr_wakeups_local", "nr_wakeups_remote", "nr_wakeups_sync",
                "nr_wakeups_migrate", "nr_wakeups_affine", "nr_wakeups_affine_attempts",
                "nr_forced_migrations", "nr_failed_migrations_affine", "nr_failed_migrations_running",
                "nr_failed_migrations_hot", "wait_count", "iowait_count"]
SCHED_TIMES = {"wait_sum": "wait_sum", "wait_max": "wait_max", "sleep_max": "sleep_max",
               "sum_block_runtime": "block_sum", "block_max": "block_max", "iowait_sum": "iowait_sum",
               "exec_max": "exec_max", "slice_max": "slice_max", "core_forceidle_sum": "core_forceidle_sum"}

MEMORY = {"RssAnon": "rss_anon_bytes", "RssFile": "rss_file_bytes", "RssShmem": "rss_shmem_bytes",
          "VmSwap": "swap_bytes"}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def read_stat(base):
    data = read(base + "stat")
    words = data.rpartition(b")")[2].split()
    comm = data[data.index(b"(") + 1:data.rindex(b")")]
    number = [int(word) if re.fullmatch(rb"-?\d+", word) else None for word in words]
    return {
        "comm": comm, "state": words[0].decode(), "ppid": number[1],
        "kthread": bool(number[6] & 0x00200000), "minflt": number[7], "majflt": number[9],
        "utime_clock_ticks": number[11], "stime_clock_ticks": number[12], "priority": number[15],
        "nice": number[16], "n_threads": number[17], "start_time_clock_ticks": number[19],
        "processor": number[36], "rt_priority": number[37],
        "policy": POLICIES.get(number[38], f"SCHED_UNKNOWN({number[38]})"),
    }


def nanoseconds(text):
    """"12.000345" milliseconds as the sched file prints them, exactly."""
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000000 + int((fraction + "000000")[:6])


def read_sched(base):
    values = {}
    for line in read(base + "sched").decode("latin-1").splitlines():
        match = re.fullmatch(r"(\S+)\s+:\s+(-?[\d.]+)", line)
        if match:
            values[match[1]] = match[2]
    bare = {key.rpartition(".")[2]: value for key, value in values.items()}
    result = {"nr_migrations": int(values["se.nr_migrations"])}
    result["fair_slice_ns"] = int(values["se.slice"]) if "se.slice" in values else None
    result["ext_enabled"] = values["ext.enabled"] != "0" if "ext.enabled" in values else None
    for key in SCHED_COUNTS:
        result[key] = int(bare[key]) if key in bare else None
    for key, name in SCHED_TIMES.items():
        result[name] = nanoseconds(bare[key]) if key in bare else None
    sleep, block = bare.get("sum_sleep_runtime"), bare.get("sum_block_runtime")
    result["voluntary_sleep_ns"] = None
    if sleep is not None and block is not None:
        result["voluntary_sleep_ns"] = max(0, nanoseconds(sleep) - nanoseconds(block))
    return result


def read_keys(path):
    pairs = (line.split(":", 1) for line in read(path).decode("latin-1").splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def cpu_list(cpus):
    """{0,1,2,5} as "0-2,5"."""
    runs = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def read_thread(tgid, tid):
    """Every procfs field of one thread, by the names of the snapshot's columns."""
    base = f"/proc/{tgid}/task/{tid}/"
    row = {"tid": tid, "tgid": tgid, "pcomm": read(f"/proc/{tgid}/comm")[:-1]}
    row.update(read_stat(base))
    row["nr_threads"] = row.pop("n_threads") if tid == tgid else None
    run, wait, slices = read(base + "schedstat").split()
    row.update(run_time_ns=int(run), wait_time_ns=int(wait), timeslices=int(slices))
    row.update(read_sched(base))
    io = read_keys(base + "io")
    for key in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"):
        row[key] = int(io[key])
    status = read_keys(base + "status")
    row["voluntary_csw"] = int(status["voluntary_ctxt_switches"])
    row["nonvoluntary_csw"] = int(status["nonvoluntary_ctxt_switches"])
    row["uid"] = int(status["Uid"].split()[0])
    row["gid"] = int(status["Gid"].split()[0])
    row["peak_rss_bytes"] = int(status["VmHWM"].split()[0]) * 1024 if "VmHWM" in status else None
    for key, name in MEMORY.items():
        row[name] = int(status[key].split()[0]) * 1024 if tid == tgid and key in status else None
    row["cpu_affinity"] = cpu_list(os.sched_getaffinity(tid))
    lines = read(base + "cgroup").decode("utf-8", "surrogateescape").splitlines()
    row["cgroup"] = next(line[3:] for line in lines if line.startswith("0::"))
    row["smaps_rollup_kb"] = None
    if tid == tgid and not row["kthread"]:
        pairs = read_keys(base + "smaps_rollup")
        row["smaps_rollup_kb"] = {key: int(value.split()[0]) for key, value in pairs.items()
                                  if value.endswith(" kB")}
    return row


class Taskstats:
    """The generic netlink family, one question at a time."""

    CATEGORIES = ["cpu", "blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq"]
    # (name, offset, format) of the layouts that grow at the end: v8..v14, v16, v17.
    FIELDS = {
        "cpu_delay_count": 16, "cpu_delay_total_ns": 24, "blkio_delay_count": 32, "blkio_delay_total_ns": 40,
        "swapin_delay_count": 48, "swapin_delay_total_ns": 56, "acct_run_real_ns": 64,
        "acct_run_virtual_ns": 72, "acct_elapsed_us": 144, "acct_utime_us": 152, "acct_stime_us": 160,
        "acct_rss_mb_us": 184, "acct_vm_mb_us": 192, "hiwater_rss_kib": 200, "hiwater_vm_kib": 208,
        "nvcsw": 272, "nivcsw": 280, "acct_utime_scaled_us": 288, "acct_stime_scaled_us": 296,
        "acct_run_scaled_ns": 304, "freepages_delay_count": 312, "freepages_delay_total_ns": 320,
        "thrashing_delay_count": 328, "thrashing_delay_total_ns": 336, "compact_delay_count": 352,
        "compact_delay_total_ns": 360, "exe_dev": 384, "exe_inode": 392, "wpcopy_delay_count": 400,
        "wpcopy_delay_total_ns": 408, "irq_delay_count": 416, "irq_delay_total_ns": 424,
    }

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.socket.bind((0, 0))
        self.socket.settimeout(5)
        answer = self._ask(16, 3, 2, b"TASKSTATS\0")
        self.family = struct.unpack_from("=H", self._attributes(answer)[1])[0]

    def _ask(self, family, command, attribute, payload):
        body = struct.pack("=BBH", command, 1, 0) + struct.pack("=HH", 4 + len(payload), attribute) + payload
        body += b"\0" * (-len(body) % 4)
        self.socket.send(struct.pack("=IHHII", 16 + len(body), family, 1, 7, 0) + body)
        answer = self.socket.recv(65536)
        _, kind, _, _, _ = struct.unpack_from("=IHHII", answer)
        if kind == 2:
            raise OSError(-struct.unpack_from("=i", answer, 16)[0], "taskstats")
        return answer[20:]

    @staticmethod
    def _attributes(data):
        found = {}
        while len(data) >= 4:
            length, kind = struct.unpack_from("=HH", data)
            if length < 4:
                break
            found[kind & 0x3fff] = data[4:length]
            data = data[(length + 3) & ~3:]
        return found

    def ask(self, tid):
        """The bytes that the kernel answers for one thread."""
        nested = self._attributes(self._ask(self.family, 1, 1, struct.pack("=I", tid)))[4]
        return self._attributes(nested)[3]

    def read(self, tid):
        stats = self.ask(tid)
        version = struct.unpack_from("=H", stats)[0]
        fields = dict(self.FIELDS)
        for index, category in enumerate(self.CATEGORIES):  # since version 16
            fields[f"{category}_delay_max_ns"] = 432 + 16 * index
            fields[f"{category}_delay_min_ns"] = 440 + 16 * index
        row = {name: struct.unpack_from("=Q", stats, offset)[0] if offset + 8 <= len(stats) else None
               for name, offset in fields.items()}
        for name in ("elapsed", "utime", "stime", "utime_scaled", "stime_scaled"):
            row[f"acct_{name}_ns"] = row.pop(f"acct_{name}_us") * 1000
        for name in ("rss", "vm"):
            row[f"hiwater_{name}_bytes"] = row.pop(f"hiwater_{name}_kib") * 1024
        return version, row
