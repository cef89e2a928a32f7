# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told of an interval beside its metrics: where the time went, how much each group weighs, and coverage."""
from fractions import Fraction

from ended import coverage_of_ended
from host import Host
from lives import known_sum
from registry import REASONS

APART = sorted({name.removesuffix("_wait_ns") for name in REASONS if name.endswith("_wait_ns")} - {"sync"})
STORAGE_FLOOR = 10 << 20  # bytes a second
MEMORY_SHARE = Fraction(1, 100)  # of the host, a minute
GIVEN_MORE = Fraction(11, 10)  # of what the disks wrote; a group that claims more counted whole folios

DEFECTIVE = 6, 12  # the first release that begins some waits for storage at the wrong time, or misses them


def counts_storage(snapshot, threads):
    """Whether delay accounting counts the waits for storage of these threads exactly."""
    return snapshot.release < DEFECTIVE and not any("blkio_delay_total_ns" in thread.doubted for thread in threads)


def storage_of(work, is_exact):
    """Nanoseconds blocked on storage, and whether they are exact."""
    for exact in ("storage_wait_ns", "iowait_sum"):
        if work.get(exact) is not None:
            return work[exact], True
    return work.get("blkio_delay_total_ns"), is_exact


def time_parts(alive, work, is_exact):
    """The member "time" for a thread-time of @alive and the work (or lifetimes) of its threads."""
    running, waiting = work.get("run_time_ns"), work.get("wait_time_ns")
    storage, is_exact = storage_of(work, is_exact)
    blocked = work.get("uninterruptible_ns")
    if blocked is None and work.get("block_sum") is not None and work.get("iowait_sum") is not None:
        blocked = max(0, work["block_sum"] - work["iowait_sum"])
    if storage is not None and not is_exact and alive is not None:
        storage = min(storage, max(0, alive - (running or 0) - (waiting or 0)))
    parts = sum(part or 0 for part in (running, waiting, storage, blocked))
    waits = {name: work.get(f"{name}_wait_ns") for name in (*APART, "sync")}
    if None in waits.values():  # all of them, or none
        waits = dict.fromkeys(waits)
    if alive is not None:
        alive = max(alive, parts + sum(waits[name] or 0 for name in APART))
    asleep = None if None in (alive, running, waiting) else alive - parts
    return {"aliveNs": alive, "runningNs": running, "waitingNs": waiting, "storageNs": storage,
            "blockedNs": blocked, "asleepNs": asleep, "exact": None if storage is None else is_exact,
            "syncNs": waits["sync"], "reasons": None if waits["sync"] is None else {name: waits[name] for name in APART}}


def alive_in(window, before, after):
    """Of a group. Only a ledger tells how long the threads lived that ended; without it they add nothing."""
    elapsed = after.start_ns - before.start_ns
    lived = len(window.survivors) * elapsed + sum(
        min(elapsed, max(0, after.start_ns - thread.start * after.tick_ns)) for thread in window.born)
    if not window.dead or not window.dead.exits or window.dead.left_out("run_time_ns"):
        return lived
    ended = window.dead.alive_ns(before)
    return None if ended is None else lived + ended


def ages(threads, snapshot):
    return sum(max(0, snapshot.start_ns - thread.start * snapshot.tick_ns) for thread in threads)


def written_at_most(work, host):
    """The smaller of what a group claims and what system calls were handed, where the disks refute it; else None."""
    written, room = work.get("write_bytes"), (host.written_bytes(), host.dirty_growth_bytes())
    if None in room or written is None or written <= GIVEN_MORE * sum(room):
        return None
    return min(written, work.get("wchar") or written)


RSS = "rss_anon_bytes", "rss_shmem_bytes"
HEAP = "allocated_bytes", "deallocated_bytes"


def resident(thread):
    """Without what is of files."""
    known = [thread.values[name] for name in RSS if name in thread.values]
    return sum(known) if known else None


def memory_of(threads):
    """Of a state."""
    known = [rss for rss in map(resident, threads) if rss is not None]
    return {"rssBytes": sum(known) if known else None, "rssBeforeBytes": None, "heapGrowthBytes": None}


def memory_between(window):
    """The levels at the ends of an interval, and by how much the heap grew, as far as that is known."""
    ends = [None, None]
    for life in window.lives:
        levels = [thread and resident(thread) for thread in (life.before, life.after)]
        if life.survived and None in levels and levels != [None, None]:
            continue  # one of its levels is not known
        ends = [known_sum([end, level]) if level is not None else end for end, level in zip(ends, levels)]
    return {"rssBytes": ends[1], "rssBeforeBytes": ends[0], "heapGrowthBytes": heap_growth(window)}


def heap_growth(window):
    counted = [life for life in window.lives
               if any(thread and HEAP[0] in thread.values for thread in (life.before, life.after))]
    works = [[life.work(name) for name in HEAP] for life in counted]
    if not works or any(None in work for work in works) or (window.dead and window.dead.fleeting):
        return None
    return max(0, sum(allocated - freed for allocated, freed in works))


def grown(memory):
    """What counts of it in a weight; None where nothing is known, as of a state."""
    ends = memory["rssBeforeBytes"], memory["rssBytes"]
    rss = None if ends == (None, None) else max(0, (ends[1] or 0) - (ends[0] or 0))
    known = [growth for growth in (rss, memory["heapGrowthBytes"]) if growth is not None]
    return max(known, default=None)


def shares(time, work, host, is_of_kernel, growth=None):
    """The share of the host's time, of its storage and of its memory; None where nothing of it is known."""
    capacity = (host.cpus() or 0) * host.elapsed_ns
    # Threads of the kernel idle uninterruptibly.
    names = ("runningNs", "waitingNs", "storageNs", *(() if is_of_kernel else ("blockedNs",)))
    parts = [time[name] for name in names if time[name] is not None]
    if time["reasons"]:
        parts.append(time["reasons"]["lock"])
    in_time = float(Fraction(sum(parts), capacity)) if parts and capacity else None
    written = written_at_most(work, host)
    moved = [amount for amount in (work.get("read_bytes"), work.get("write_bytes") if written is None else written)
             if amount is not None]
    most = max(Fraction(host.storage_bytes() or 0), Fraction(STORAGE_FLOOR * host.elapsed_ns, 10**9))
    in_storage = float(min(Fraction(1), sum(moved) / most)) if moved and most else None
    room = (host.memory_bytes() or 0) * MEMORY_SHARE * host.elapsed_ns / (60 * 10**9)
    in_memory = float(min(Fraction(1), growth / room)) if growth is not None and room else None
    return in_time, in_storage, in_memory


NO_PART = 0.0, 0.0, 0.0  # of a side that has no thread of the group


def weight(sides):
    """The largest share of one side; of two, the share that moved more, with its sign."""
    if len(sides) == 1:
        known = [share for share in sides[0] if share is not None]
        return max(known, default=None)
    moved = []
    for before, after in zip(*sides):
        if before is not None and after is not None:
            moved.append(after - before)
    return max(moved, key=abs, default=None)


def coverage(lives, before, after):
    """The member "coverage", of all threads of the host."""
    host = Host(before, after)
    parts = {"survivedNs": [], "bornNs": [], "kernelThreadsNs": []}
    stored = []
    for life in lives:
        if not life.after:  # nobody saw its last work
            continue
        kind = "kernelThreadsNs" if life.after.kthread else "bornNs" if life.is_born else "survivedNs"
        parts[kind].append(life.work("run_time_ns"))
        stored += [life.work("read_bytes"), life.work("write_bytes")]
    # Without a thread of the kind nothing was done.
    told = {name: known_sum(works) if works else 0 for name, works in parts.items()}
    used, ended = host.used_ns(), coverage_of_ended(lives, before, after)
    attributed = known_sum(works) if (works := sum(parts.values(), [])) else 0
    stored = known_sum(stored) if stored else 0
    if attributed is not None:
        attributed += sum(ended[name] or 0 for name in ("endedNs", "bornAndEndedNs", "kernel"))
    if told["kernelThreadsNs"] is not None:
        told["kernelThreadsNs"] += ended["kernel"] or 0
    more = believed(used, attributed, host)
    return {**told, "cpuUsedNs": used, **({} if more is None else {"cpuBelievedNs": more}), "attributedNs": attributed,
            "endedNs": ended["endedNs"], "bornAndEndedNs": ended["bornAndEndedNs"],
            "notAttributedNs": None if used is None or attributed is None else max(0, used - attributed),
            "boundNs": host.bound_ns(), "storageUsedBytes": host.storage_bytes(),
            "storageAttributedBytes": None if stored is None else stored + (ended["stored"] or 0)}


def believed(used, attributed, host):
    """What threads did is believed where ticks have less of it than their grain explains, up to what all CPUs had."""
    if None in (used, attributed) or attributed <= used + (host.bound_ns() or 0):
        return None
    most = attributed if host.cpus() is None else min(attributed, host.cpus() * host.elapsed_ns)
    return most if most > used else None


FIGURES = {"runningNs": ["run_time_ns"], "waitingNs": ["wait_time_ns"],
           "storageNs": ["storage_wait_ns", "iowait_sum", "blkio_delay_total_ns"],
           "blockedNs": ["uninterruptible_ns", "block_sum"], "syncNs": ["sync_wait_ns"],
           "reasons": [f"{name}_wait_ns" for name in APART], "switches": ["voluntary_csw", "nonvoluntary_csw"],
           "readBytes": ["read_bytes"], "writeBytes": ["write_bytes"], "majorFaults": ["majflt"]}


def cuts(window, host):
    """The figures that are less than the work of the group."""
    if not window.excess:
        return []
    found = []
    for figure, names in FIGURES.items():
        of = [name for name in names if window.work.get(name) is not None]
        of = of if figure in ("switches", "reasons") else of[:1]  # else of the first that is known
        if figure in ("syncNs", "reasons") and any(window.work.get(f"{name}_wait_ns") is None for name in (*APART, "sync")):
            continue
        if figure == "blockedNs" and of == ["block_sum"]:
            of = ["block_sum", "iowait_sum"]
        # Shown is what system calls were handed, where that is less than what cannot be.
        written = written_at_most(window.cut_work, host) if figure == "writeBytes" else None
        if written is not None and written < window.cut_work["write_bytes"]:
            of = [*of, "wchar"]
        if any(name in window.excess for name in of):
            found.append(figure)
    return found


def account(time, work, host, threads):
    """The object Account of the interface but for the numbers of lives and the peak of memory."""
    switches = [work.get(name) for name in ("voluntary_csw", "nonvoluntary_csw")]
    written, room = work.get("write_bytes"), (host.written_bytes(), host.dirty_growth_bytes())
    is_exact = None in room or written is None or written <= GIVEN_MORE * sum(room)
    return {"threads": threads, **time, "switches": None if None in switches else sum(switches),
            "readBytes": work.get("read_bytes"), "writeBytes": written,
            **({} if is_exact else {"writeAtMostBytes": written_at_most(work, host)}),
            "writeExact": None if written is None else is_exact, "majorFaults": work.get("majflt")}
