# SPDX-License-Identifier: GPL-2.0-or-later
"""What each system call can fail with.

Only errors that the kernel gives for the call as we make it: a fault that cannot happen proves nothing.
A call without a row here stops the run, so that none is forgotten.
"""
import errno

SHORT = "short"  # done in part
CUT = "cut"      # without the descriptors of the message
MALLOC = "malloc"      # no memory for one allocation
MALLOC_ON = "malloc+"  # nor for any that follows

# Calls that always do what they are asked for, or whose failure would be a bug of the caller.
INFALLIBLE = set("""
    arch_prctl exit exit_group rt_sigreturn restart_syscall getpid getppid gettid getuid geteuid getgid getegid
    rt_sigaction rt_sigprocmask sched_yield set_tid_address set_robust_list rseq umask getrusage times
    clock_gettime gettimeofday time uname sysinfo lseek timerfd_settime fadvise64 close_range sigaltstack
    kill tgkill getresuid getresgid getpgrp capget getrlimit clock_nanosleep setitimer
    """.split())
# futex(2) as glibc uses it has no error that is not handled inside glibc, which ends the process at others.
INFALLIBLE.add("futex")
# dup3(2) onto a number that is open already, which is how the daemon uses it, takes nothing.
INFALLIBLE.add("dup3")
# madvise(2) is advice, and waitid(2) with WNOHANG, as the event loop calls it, does not wait.
INFALLIBLE |= {"madvise", "waitid"}

FILE_TABLE = ["EMFILE", "ENFILE", "ENOMEM"]
PATH = ["EIO", "ENOMEM", "EPERM"]

ERRORS = {
    "openat": FILE_TABLE + ["EIO", "EPERM", "EINTR"],
    "open": FILE_TABLE + ["EIO", "EPERM", "EINTR"],
    "bpf": FILE_TABLE + ["EPERM"],
    "openat2": FILE_TABLE + ["EIO", "EPERM", "EAGAIN"],
    "read": ["EIO", "EINTR", "ENOMEM", SHORT],
    "pread64": ["EIO", "EINTR", "ENOMEM", SHORT],
    "write": ["ENOSPC", "EIO", "EINTR", SHORT],
    "pwrite64": ["ENOSPC", "EIO", "EINTR", SHORT],
    "writev": ["ENOSPC", "EIO", "EINTR"],
    "copy_file_range": ["ENOSPC", "EIO", "ENOMEM", SHORT],
    "close": ["late:EIO", "late:EINTR"],
    "fsync": ["EIO", "ENOSPC", "EINTR"],
    "fdatasync": ["EIO", "ENOSPC", "EINTR"],
    "ftruncate": ["EIO", "EINTR", "EPERM"],
    "fchmod": ["EIO", "EPERM"],
    "fallocate": ["ENOSPC", "EIO", "EINTR"],
    "linkat": ["ENOSPC", "EIO", "ENOMEM", "EPERM"],
    "renameat": ["ENOSPC", "EIO", "ENOMEM", "EPERM"],
    "renameat2": ["ENOSPC", "EIO", "ENOMEM", "EPERM"],
    "unlinkat": PATH,
    "unlink": PATH,
    "mkdir": ["ENOSPC"] + PATH,
    "mkdirat": ["ENOSPC"] + PATH,
    "utimensat": ["EIO", "EPERM"],
    "flock": ["EINTR", "ENOLCK"],
    "fstat": ["EIO", "ENOMEM"],
    "newfstatat": PATH,
    "stat": PATH,
    "lstat": PATH,
    "statx": PATH,
    "statfs": ["EIO", "EINTR", "ENOMEM"],
    "fstatfs": ["EIO", "EINTR", "ENOMEM"],
    "access": PATH,
    "faccessat": PATH,
    "faccessat2": PATH,
    "readlink": PATH,
    "readlinkat": PATH,
    "getdents64": ["EIO", "ENOMEM", "EINTR"],
    "mmap": ["ENOMEM", "ENFILE"],
    "mremap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "munmap": ["ENOMEM"],
    "brk": [SHORT],
    "clone": ["EAGAIN", "ENOMEM"],
    "clone3": ["EAGAIN", "ENOMEM", "EPERM"],
    "vfork": ["EAGAIN", "ENOMEM"],
    "fork": ["EAGAIN", "ENOMEM"],
    "execve": ["ENOMEM", "EIO", "EPERM", "EAGAIN", "ENFILE"],
    "execveat": ["ENOMEM", "EIO", "EPERM", "EAGAIN", "ENFILE"],
    "wait4": ["EINTR"],
    "pidfd_open": FILE_TABLE,
    "pidfd_send_signal": ["EPERM"],
    "unshare": ["ENOMEM", "EPERM"],
    "prlimit64": ["EPERM"],
    "setrlimit": ["EPERM"],
    "capset": ["EPERM"],
    "seccomp": ["ENOMEM"],
    "prctl": ["EPERM"],
    "sched_getaffinity": ["EPERM", "ENOMEM"],
    "getrandom": ["EINTR", "EAGAIN"],
    "pipe2": FILE_TABLE,
    "dup": ["EMFILE"],
    "dup2": ["EINTR", "EMFILE"],
    "memfd_create": FILE_TABLE,
    "eventfd2": FILE_TABLE,
    "epoll_create1": FILE_TABLE,
    "signalfd4": FILE_TABLE,
    "timerfd_create": FILE_TABLE,
    "epoll_wait": ["EINTR"],
    "epoll_pwait2": ["EINTR"],
    "poll": ["EINTR", "ENOMEM"],
    "ppoll": ["EINTR", "ENOMEM"],
    "socket": FILE_TABLE + ["EPERM"],
    "socketpair": FILE_TABLE,
    "accept4": FILE_TABLE + ["EINTR", "EPERM", "EAGAIN"],
    "bind": ["ENOMEM", "EPERM"],
    "listen": ["EPERM"],
    "connect": ["EINTR", "EAGAIN", "EPERM", "ENOMEM"],
    "getsockname": ["ENOMEM"],
    "getpeername": ["ENOMEM"],
    "setsockopt": ["ENOMEM", "EPERM"],
    "getsockopt": ["ENOMEM"],
    "shutdown": ["ENOMEM"],
    "sendmsg": ["ENOMEM", "EINTR", "EAGAIN", "EPERM"],
    "recvmsg": ["ENOMEM", "EINTR", "EAGAIN"],
    "sendto": ["ENOMEM", "EINTR", "EAGAIN", "EPERM"],
    "recvfrom": ["ENOMEM", "EINTR", "EAGAIN"],
    "recvmmsg": ["ENOMEM", "EINTR", "EAGAIN"],
    "process_vm_readv": ["EPERM", "ESRCH", "EFAULT", "ENOMEM"],
    "get_robust_list": ["EPERM", "ESRCH"],
}

EPOLL_CTL_ADD = "1"
F_DUPFD, F_DUPFD_CLOEXEC = "0", "1030"
# Options of prctl(2) that a security module or a missing privilege can refuse.
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = "22", "38"


def _of_objects(name, words, errors):
    """What the object of a call adds to, or takes from, the errors of its row."""
    text = " ".join(words)
    if name == "epoll_ctl":  # the others change what is there already, which takes no memory
        return ["ENOMEM", "ENOSPC"] if words[0] == EPOLL_CTL_ADD else []
    if name == "fcntl":
        return ["EMFILE", "ENOMEM"] if words[-1] in (F_DUPFD, F_DUPFD_CLOEXEC) else []
    if name == "prctl":
        return {PR_SET_SECCOMP: ["ENOMEM"], PR_SET_NO_NEW_PRIVS: []}.get(words[0], [])
    if name == "ioctl":
        return []
    if name == "prlimit64":
        return errors if words[-1] == "set" else []
    if name in ("openat", "open") and words[-1].endswith("create"):
        return errors + ["ENOSPC"]
    if name in ("openat", "open") and words[-1].endswith("unnamed"):
        return errors + ["ENOSPC", "EOPNOTSUPP"]
    if name == "mmap":
        return errors if words[-1] == "file" else ["ENOMEM"]
    if name in ("read", "write") and ("anon_inode:" in text or "/dev/null" in text):
        # Events come whole, and from the kernel's own memory.
        return ["EAGAIN", "EINTR"] if name == "read" else []
    if name == "read" and "socket:" in text:
        return ["ENOMEM", "EINTR", "EAGAIN", SHORT]
    if name in ("sendmsg", "recvmsg") and "stream" in words:
        more = [SHORT]
        if name == "recvmsg" and words[-1] == "descriptors":
            more.append(CUT)
        return errors + more
    return errors


def errors_of(call):
    """The faults of a call as the tracer describes it; None for one that nobody has thought about."""
    _, name, *words = call.split(" ")
    if name in INFALLIBLE:
        return []
    if name in ("epoll_ctl", "fcntl", "ioctl"):
        return _of_objects(name, words, [])
    if name not in ERRORS:
        return None
    return _of_objects(name, words, ERRORS[name])


def kind_of(fault):
    """How the tracer is told."""
    if fault in (SHORT, CUT):
        return fault
    late, _, name = fault.rpartition(":")
    number = str(getattr(errno, name))
    return f"late:{number}" if late else number


def role_of(call):
    return call.split(" ", 1)[0]


def name_of(call):
    return call.split(" ", 2)[1]
