/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/text-file.h"

#define RETRY_NS (20 * NSEC_PER_MSEC)
#define TABLE_MAX_BYTES (1024u * 1024u)
#define COMM_BYTES 32

/* "1: FLOCK ADVISORY WRITE 4711 fe:01:262146 0 EOF"; a waiting process has "->" as second word. */
static bool parse_holder(Span line, const char *inode, uint32_t *ret_pid) {
        enum { KIND = 1, PID = 4, INODE = 5, N_WORDS };
        Cursor cursor = cursor_over(line);
        Span words[N_WORDS];

        for (size_t i = 0; i < N_WORDS; i++)
                if (!cursor_word(&cursor, &words[i]))
                        return false;
        return span_is(words[KIND], "FLOCK") && span_is(words[INODE], inode) &&
               number_parse_u32(words[PID], ret_pid) && *ret_pid > 0;
}

/* The process that took the lock on the directory, as the kernel lists it. */
static bool find_holder(int dir_fd, uint32_t *ret_pid) {
        _cleanup_(buffer_done) Buffer table = { .max_bytes = TABLE_MAX_BYTES };
        char inode[64];
        struct stat st;
        Cursor cursor;
        Span line;

        if (fstat(dir_fd, &st) < 0 || text_file_read_all(AT_FDCWD, "/proc/locks", &table) != 0)
                return false;
        (void) snprintf(inode, sizeof(inode), "%02x:%02x:%" PRIu64, major(st.st_dev),
                        minor(st.st_dev), (uint64_t) st.st_ino);
        cursor = cursor_over(buffer_span(&table));
        while (cursor_line(&cursor, &line))
                if (parse_holder(line, inode, ret_pid))
                        return true;
        return false;
}

/* A process may have any name; the sentence keeps to printable ASCII. */
static void read_comm(uint32_t pid, char ret[static COMM_BYTES]) {
        char path[64];
        size_t n = 0;

        (void) snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
        if (text_file_read(AT_FDCWD, path, ret, COMM_BYTES - 1, &n) != 0)
                n = 0;
        while (n > 0 && ret[n - 1] == '\n')
                n--;
        for (size_t i = 0; i < n; i++)
                if (ret[i] < ' ' || ret[i] > '~' || ret[i] == '"')
                        ret[i] = '?';
        ret[n] = '\0';
}

static int complain_locked(Spool *spool, int dir_fd) {
        unsigned seconds = (unsigned) (spool->patience_ns / NSEC_PER_SEC);
        char path[64], comm[COMM_BYTES];
        struct stat st;
        uint32_t pid;

        if (!find_holder(dir_fd, &pid))
                return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "is locked by another process for more than %u s; lslocks(8) "
                                      "may tell which one",
                                      seconds);
        read_comm(pid, comm);
        (void) snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
        if (stat(path, &st) < 0)
                return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "is locked for more than %u s: process %" PRIu32
                                      " took the lock, and has ended or cannot be seen",
                                      seconds, pid);
        return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                              "is locked for more than %u s by process %" PRIu32
                              " (\"%s\", of uid %u)",
                              seconds, pid, comm, (unsigned) st.st_uid);
}

/*
 * Whoever may read the directory may lock it, so a lock is never waited for without a bound. A job
 * holds it for a few system calls, and while it copies a snapshot to rename it.
 */
int spool_lock(Spool *spool, int *ret_fd) {
        const struct timespec pause = { .tv_nsec = RETRY_NS };
        uint64_t deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + spool->patience_ns;
        _cleanup_(fd_closep) int fd = -EBADF;

        /*
         * A lock belongs to the open file, and the spool's is shared with every process it was sent
         * to.
         */
        fd = openat(spool->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno == EWOULDBLOCK) {
                        if (clock_now_ns(CLOCK_MONOTONIC) >= deadline_ns)
                                return complain_locked(spool, fd);
                        (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
                        continue;
                }
                if (errno == EINTR)
                        continue;
                /*
                 * A file system without locks: of two processes that replace one name at once,
                 * either may win.
                 */
                if (errno != EOPNOTSUPP && errno != ENOLCK && errno != ENOSYS && errno != EINVAL)
                        return -errno;
                break;
        }
        spool_change_begin(spool);
        *ret_fd = TAKE_FD(fd);
        return 0;
}
