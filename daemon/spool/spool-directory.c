/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/text-file.h"

#define RETRY_NS (20 * NSEC_PER_MSEC)
#define TABLE_MAX_BYTES (1024u * 1024u)
#define COMM_BYTES 32

int spool_complain(Spool *spool, int code, const char *format, ...) {
        va_list args;
        int n;

        n = snprintf(spool->complaint, sizeof(spool->complaint), "Spool \"%s\" ", spool->path);
        if (n < 0 || (size_t) n >= sizeof(spool->complaint) / 2)
                n = snprintf(spool->complaint, sizeof(spool->complaint), "The spool ");
        va_start(args, format);
        (void) vsnprintf(spool->complaint + n, sizeof(spool->complaint) - (size_t) n, format, args);
        va_end(args);
        return code;
}

bool spool_file_name(const char *name, char ret_file[static SPOOL_FILE_BYTES]) {
        if (snapshot_name_complaint(span_of(name)))
                return false;
        (void) snprintf(ret_file, SPOOL_FILE_BYTES, "%s" SNAPSHOT_FILE_SUFFIX, name);
        return true;
}

int spool_stamp_read(int dir_fd, SpoolStamp *ret) {
        struct stat st;

        *ret = (SpoolStamp){};
        if (fstat(dir_fd, &st) < 0)
                return -errno;
        *ret = (SpoolStamp){
                .device = st.st_dev,
                .inode = st.st_ino,
                .change_ns =
                        (uint64_t) st.st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t) st.st_ctim.tv_nsec,
        };
        return 0;
}

bool spool_is_dot_name(const char *name) {
        return strlen(name) == DOT_BYTES - 1 &&
               memcmp(name, DOT_PREFIX, sizeof(DOT_PREFIX) - 1) == 0;
}

int spool_names(const Spool *spool, SpoolNames kind, Buffer *ret) {
        const size_t n_suffix = sizeof(SNAPSHOT_FILE_SUFFIX) - 1;
        const struct dirent *entry;
        DIR *listing;
        int fd, r;

        /*
         * Reopen the directory: the position of the spool's descriptor is shared with every process
         * it was sent to.
         */
        fd = openat(spool->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        listing = fdopendir(fd);
        if (!listing) {
                r = -errno;
                (void) fd_close(fd);
                return r;
        }
        while (errno = 0, entry = readdir(listing)) {
                size_t n = strlen(entry->d_name);

                if (kind == SPOOL_NAMES_TEMPORARIES) {
                        if (!spool_is_dot_name(entry->d_name))
                                continue;
                } else {
                        if (n <= n_suffix ||
                            strcmp(entry->d_name + n - n_suffix, SNAPSHOT_FILE_SUFFIX) != 0)
                                continue;
                        n -= n_suffix;
                        if ((entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) ||
                            snapshot_name_complaint((Span){ entry->d_name, n }))
                                continue;
                }
                (void) buffer_append(ret, entry->d_name, n);
                (void) buffer_append_byte(ret, '\0');
        }
        r = -errno;
        (void) closedir(listing);
        return r < 0 ? r : buffer_failure(ret);
}

int spool_stat(const Spool *spool, const char *name, struct stat *ret) {
        char file[SPOOL_FILE_BYTES];
        struct stat st;

        if (!spool_file_name(name, file))
                return SPOOL_E_NOT_FOUND;
        if (fstatat(spool->dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? SPOOL_E_NOT_FOUND : -errno;
        if (!S_ISREG(st.st_mode))
                return SPOOL_E_NOT_FOUND;
        if (ret)
                *ret = st;
        return 0;
}

uint64_t spool_published_ns(const struct stat *st) {
        if (st->st_mtim.tv_sec < 0)
                return 0;
        return number_add_saturating(
                number_multiply_saturating((uint64_t) st->st_mtim.tv_sec, NSEC_PER_SEC),
                (uint64_t) st->st_mtim.tv_nsec);
}

int spool_sync_fd(int fd) {
        int r;

        do
                r = fsync(fd);
        while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : 0;
}

/* the lock */

/*
 * Finds the process that took the lock on the directory, as the kernel lists it:
 * "1: FLOCK ADVISORY WRITE 4711 fe:01:262146 0 EOF"; a waiting process has "->" as second word.
 */
static bool find_holder(int dir_fd, uint32_t *ret_pid) {
        enum { KIND = 1, PID = 4, INODE = 5, N_WORDS };
        _cleanup_(buffer_done) Buffer table = { .max_bytes = TABLE_MAX_BYTES };
        Cursor lines, cursor;
        Span line, words[N_WORDS];
        char inode[64];
        struct stat st;

        if (fstat(dir_fd, &st) < 0 || text_file_read_all(AT_FDCWD, "/proc/locks", &table) != 0)
                return false;
        (void) snprintf(inode, sizeof(inode), "%02x:%02x:%" PRIu64, major(st.st_dev),
                        minor(st.st_dev), (uint64_t) st.st_ino);
        lines = buffer_span(&table);
        while (cursor_line(&lines, &line)) {
                size_t n = 0;

                cursor = line;
                while (n < N_WORDS && cursor_word(&cursor, &words[n]))
                        n++;
                if (n == N_WORDS && span_is(words[KIND], "FLOCK") && span_is(words[INODE], inode) &&
                    number_parse_u32(words[PID], ret_pid) && *ret_pid > 0)
                        return true;
        }
        return false;
}

static int complain_locked(Spool *spool, int dir_fd) {
        unsigned seconds = (unsigned) (spool->patience_ns / NSEC_PER_SEC);
        char path[64], comm[COMM_BYTES];
        struct stat st;
        uint32_t pid;
        size_t n = 0;

        if (!find_holder(dir_fd, &pid))
                return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "is locked by another process for more than %u s; lslocks(8) "
                                      "may tell which one",
                                      seconds);
        (void) snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
        if (text_file_read(AT_FDCWD, path, comm, sizeof(comm) - 1, &n) != 0)
                n = 0;
        while (n > 0 && comm[n - 1] == '\n')
                n--;
        /* A process may have any name; the sentence keeps to printable ASCII. */
        for (size_t i = 0; i < n; i++)
                if (comm[i] < ' ' || comm[i] > '~' || comm[i] == '"')
                        comm[i] = '?';
        comm[n] = '\0';
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
 * holds it for a few system calls, and never while it writes a file.
 */
int spool_lock(Spool *spool, int *ret_fd) {
        const struct timespec pause = { .tv_nsec = RETRY_NS };
        uint64_t deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + spool->patience_ns;
        _cleanup_(fd_closep) int fd = -EBADF;
        SpoolChange *change = &spool->change;
        SpoolStamp now;
        int r;

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
        /*
         * Between two locks of one job another process may have changed the directory. Then this
         * job cannot tell what happened, and says nothing.
         */
        r = spool_stamp_read(spool->dir_fd, &now);
        if (!change->is_begun)
                change->before = change->after = now;
        if (r < 0 || memcmp(&change->after, &now, sizeof(now)) != 0)
                change->is_unclear = true;
        change->is_begun = true;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

void spool_note(Spool *spool, Buffer *names, const char *name) {
        int r = 0;

        if (names) {
                buffer_append_text(names, name);
                r = buffer_append_byte(names, '\0');
        }
        if (r < 0 || spool_stamp_read(spool->dir_fd, &spool->change.after) < 0)
                spool->change.is_unclear = true;
}
