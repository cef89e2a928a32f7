/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reason list
 *
 * The things that a thread can wait for when it is not in an uninterruptible sleep. The reasons
 * exclude each other, and with running, waiting for a CPU and the uninterruptible waits they add up
 * to the time that a thread was alive. From these rows follow the metrics X_wait_ns and
 * X_wait_count, their averages, the counters of the programs in the kernel and their sums in the
 * ledger of exits.
 *
 * Columns: name, what such waits are.
 *
 * The last one, which is not among those apart, is no reason of its own: it counts the
 * uninterruptible waits inside of system calls that write files back, once more.
 */

// clang-format off
#define WAIT_REASONS_APART(R, ...)                                                                 \
        R(lock, "for locks of programs: futex waits with the marks of a contended mutex "          \
          "(expected value 2, or of priority inheritance); locks that are made of semaphores or "  \
          "conditions, as Python's, are in futex", __VA_ARGS__)                                    \
        R(futex, "in other futex waits: conditions, semaphores, barriers, the end of a thread",    \
          __VA_ARGS__)                                                                             \
        R(sleep, "in nanosleep and clock_nanosleep", __VA_ARGS__)                                  \
        R(poll, "in poll, select and epoll_wait and their variants", __VA_ARGS__)                  \
        R(pipe, "for reading or writing pipes", __VA_ARGS__)                                       \
        R(socket, "for sockets: reading, writing, connecting, accepting", __VA_ARGS__)             \
        R(terminal, "for reading or writing terminals", __VA_ARGS__)                               \
        R(file, "for files of any other kind, where the wait could be interrupted: FUSE, "         \
          "eventfd, inotify, character devices, opening a pipe", __VA_ARGS__)                      \
        R(async_io, "for asynchronous I/O: io_getevents, io_uring_enter", __VA_ARGS__)             \
        R(child, "for children: wait4, waitid", __VA_ARGS__)                                       \
        R(signal, "for signals: sigtimedwait, sigsuspend, pause", __VA_ARGS__)                     \
        R(file_lock, "for locks of files: flock, and fcntl of a record or an open file",           \
          __VA_ARGS__)                                                                             \
        R(ipc, "for message queues and semaphores of System V, and for queues of POSIX",           \
          __VA_ARGS__)                                                                             \
        R(ioctl, "in ioctl: of a hypervisor, while its guest is idle", __VA_ARGS__)                \
        R(fault, "in page faults that could be interrupted: userfaultfd", __VA_ARGS__)             \
        R(stopped, "stopped, traced or frozen", __VA_ARGS__)                                       \
        R(idle, "of kernel threads and of workers for the kernel (io_uring, vhost) without work",  \
          __VA_ARGS__)                                                                             \
        R(other, "for anything else, in 32-bit programs for everything; other_wait_call has the "  \
          "number of the last system call", __VA_ARGS__)
/* In these a thread has nothing to do. */
#define WAIT_REASONS_OF_REST(R) R(idle) R(sleep) R(poll) R(child) R(signal) R(stopped)
#define WAIT_REASONS(R, ...)                                                                       \
        WAIT_REASONS_APART(R, __VA_ARGS__)                                                         \
        R(sync, "in state D inside of fsync, fdatasync, msync, sync, syncfs and sync_file_range, " \
          "whatever the kernel counted them as: they are part of the storage and "                 \
          "uninterruptible waits too, so never add them", __VA_ARGS__)
// clang-format on

#define WAIT_REASON_ID(name, text, ...) WAIT_REASON_##name,
typedef enum WaitReason { WAIT_REASONS(WAIT_REASON_ID) _WAIT_REASON_MAX } WaitReason;
/* Those apart come first. */
#define WAIT_REASONS_APART_MAX ((unsigned) WAIT_REASON_sync)
