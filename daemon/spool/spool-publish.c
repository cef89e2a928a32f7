/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "spool/snapshot-file.h"
#include "spool/spool-directory.h"
#include "wire/limits.h"

/* temporaries */

static int dot_name(char ret_name[static DOT_BYTES]) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
                return -EIO;
        (void) snprintf(ret_name, DOT_BYTES, DOT_PREFIX "%016" PRIx64, random);
        return 0;
}

int spool_temporary(Spool *spool, int *ret_fd) {
        char name[DOT_BYTES];
        struct stat st;
        int fd, r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        /*
         * Some file systems still create files in a removed directory, which can never be linked.
         */
        if (fstat(spool->dir_fd, &st) == 0 && st.st_nlink == 0)
                return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "was removed while it was in use");
        fd = openat(spool->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EOPNOTSUPP && errno != EISDIR)
                return spool_explain(spool, -errno);
        if (fd < 0) {
                /* Without unnamed files, a lock tells spool_clean() that the file is in use. */
                r = dot_name(name);
                if (r < 0)
                        return spool_explain(spool, r);
                fd = openat(spool->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0600);
                if (fd < 0)
                        return spool_explain(spool, -errno);
                (void) flock(fd, LOCK_EX | LOCK_NB); /* nobody else can hold it yet */
        }
        *ret_fd = fd;
        return 0;
}

/* The dot-name that @fd has in the spool; "" when it is unnamed. */
static int find_dot_name(const Spool *spool, int fd, char ret_name[static DOT_BYTES]) {
        char link[32], path[PATH_MAX];
        struct stat st, named;
        const char *base;
        ssize_t n;

        ret_name[0] = '\0';
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_nlink == 0)
                return 0;
        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return -errno;
        path[n] = '\0';
        base = strrchr(path, '/');
        base = base ? base + 1 : path;
        if (!spool_is_dot_name(base))
                return -EINVAL; /* a file that spool_temporary() did not make */
        if (fstatat(spool->dir_fd, base, &named, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (named.st_dev != st.st_dev || named.st_ino != st.st_ino)
                return -EINVAL;
        memcpy(ret_name, base, DOT_BYTES);
        return 0;
}

void spool_discard(const Spool *spool, int fd) {
        char dot[DOT_BYTES];

        if (fd >= 0 && find_dot_name(spool, fd, dot) == 0 && dot[0] != '\0')
                (void) unlinkat(spool->dir_fd, dot, 0);
}

static int link_as(const Spool *spool, int fd, const char *file) {
        char link[32];

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, link, spool->dir_fd, file, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

bool spool_may_be_unclean(const Spool *spool) {
        _cleanup_(buffer_done) Buffer names = {};

        return spool->is_unavailable || spool_names(spool, SPOOL_NAMES_TEMPORARIES, &names) != 0 ||
               names.n > 0;
}

int spool_clean(Spool *spool) {
        _cleanup_(buffer_done) Buffer names = {};
        _cleanup_(fd_closep) int lock = -EBADF;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_lock(spool, &lock);
        if (r == 0)
                r = spool_names(spool, SPOOL_NAMES_TEMPORARIES, &names);
        if (r != 0)
                return r;
        for (size_t at = 0; at < names.n; at += DOT_BYTES) {
                const char *name = names.bytes + at;
                _cleanup_(fd_closep) int fd = -EBADF;

                fd = openat(spool->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                        continue; /* another daemon on the same spool is writing it */
                if (unlinkat(spool->dir_fd, name, 0) < 0 && errno != ENOENT)
                        return spool_explain(spool, -errno);
                spool_note(spool, NULL, NULL);
        }
        return 0;
}

/* publishing */

/*
 * The head names the owner of a snapshot. When it does not, or cannot be read, the owner of the
 * file may remove it, as they could without the daemon.
 */
static int check_owner(Spool *spool, const char *name, uid_t uid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        _cleanup_(head_done) Head head = {};
        struct stat st;
        int r;

        r = spool_stat(spool, name, &st);
        if (r != 0 || uid == 0)
                return r;
        r = spool_open_snapshot(spool, name, &fd, &head);
        if (r == 0 && head.has_uid)
                return head.uid == uid ? 0 : SPOOL_E_NOT_OWNER;
        if (r == 0 || r == SPOOL_E_DAMAGED || r == -EACCES)
                return st.st_uid == uid ? 0 : SPOOL_E_NOT_OWNER;
        return r;
}

/* A snapshot that is replaced or removed need not be readable; then only its name is known. */
static void read_old_head(Spool *spool, const char *name, Head *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;

        if (spool_open_snapshot(spool, name, &fd, ret) != 0)
                *ret = (Head){};
        memcpy(ret->name, name, strlen(name) + 1);
}

/*
 * Both are called under the lock and return when the directory is synced. @dot is "" for an unnamed
 * file.
 */
static int publish_new(const Spool *spool, int fd, const char *dot, const char *file) {
        int r;

        if (dot[0] == '\0')
                r = link_as(spool, fd, file);
        else
                r = renameat2(spool->dir_fd, dot, spool->dir_fd, file, RENAME_NOREPLACE) < 0
                            ? -errno
                            : 0;
        if (r < 0)
                return r == -EEXIST ? SPOOL_E_EXISTS : r;
        r = spool_sync_fd(spool->dir_fd);
        /* After an error the name must be free again. */
        if (r < 0)
                (void) unlinkat(spool->dir_fd, file, 0);
        return r;
}

static int publish_over(const Spool *spool, int fd, const char *dot, const char *file) {
        char made[DOT_BYTES];
        int r;

        if (dot[0] == '\0') {
                r = dot_name(made);
                if (r == 0)
                        r = link_as(spool, fd, made);
                if (r < 0)
                        return r;
                dot = made;
        }
        if (renameat(spool->dir_fd, dot, spool->dir_fd, file) < 0) {
                r = -errno;
                (void) unlinkat(spool->dir_fd, dot, 0);
                return r;
        }
        return spool_sync_fd(spool->dir_fd);
}

static int set_published(int fd, uint64_t ns) {
        const struct timespec times[] = {
                { .tv_nsec = UTIME_OMIT },
                clock_timespec(ns),
        };

        return futimens(fd, times) < 0 ? -errno : 0;
}

/*
 * Marks @fd as published now, and in any case after all others, so a clock that was set back does
 * not change the order. File systems keep times in steps of up to 2 s.
 */
static int mark_published(const Spool *spool, int fd) {
        static const uint64_t steps_ns[] = { 1, NSEC_PER_USEC, NSEC_PER_MSEC, 2 * NSEC_PER_SEC };
        const SpoolRoll *roll = spool_current_roll(spool);
        _cleanup_(buffer_done) Buffer names = {};
        uint64_t newest_ns = 0, now_ns;
        struct stat st;
        int r;

        for (size_t i = 0; roll && i < roll->n; i++)
                newest_ns = MAX_OF(newest_ns, roll->entries[i].published_realtime_ns);
        r = roll ? 0 : spool_names(spool, SPOOL_NAMES_SNAPSHOTS, &names);
        if (r != 0)
                return r;
        for (size_t at = 0; at < names.n; at += strlen(names.bytes + at) + 1)
                if (spool_stat(spool, names.bytes + at, &st) == 0)
                        newest_ns = MAX_OF(newest_ns, spool_published_ns(&st));
        now_ns = clock_now_ns(CLOCK_REALTIME);
        for (size_t i = 0; i < ELEMENTSOF(steps_ns); i++) {
                r = set_published(fd,
                                  MAX_OF(now_ns, number_add_saturating(newest_ns, steps_ns[i])));
                if (r < 0)
                        return r;
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (spool_published_ns(&st) > newest_ns)
                        break;
        }
        return 0;
}

/* Under the lock, @fd being synced and marked. */
static int publish(Spool *spool, int fd, const char *name, bool replace, uid_t uid,
                   Head *ret_replaced) {
        char dot[DOT_BYTES], file[SPOOL_FILE_BYTES];
        int r;

        if (!spool_file_name(name, file))
                return -EINVAL;
        r = find_dot_name(spool, fd, dot);
        if (r < 0)
                return r;
        r = replace ? check_owner(spool, name, uid) : SPOOL_E_NOT_FOUND;
        if (r == 0 && ret_replaced)
                read_old_head(spool, name, ret_replaced);
        if (r == SPOOL_E_NOT_FOUND)
                r = publish_new(spool, fd, dot, file);
        else if (r == 0)
                r = publish_over(spool, fd, dot, file);
        if (r == 0)
                spool_note(spool, &spool->change.added, name);
        return r;
}

/* Sync before taking the lock, because syncing takes long. */
static int sync_and_lock(Spool *spool, int fd, int *ret_lock) {
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_sync_fd(fd);
        return r < 0 ? spool_explain(spool, r) : spool_lock(spool, ret_lock);
}

int spool_publish(Spool *spool, int fd, const char *name, bool replace, uid_t uid,
                  Head *ret_replaced) {
        _cleanup_(fd_closep) int lock = -EBADF;
        int r;

        r = sync_and_lock(spool, fd, &lock);
        if (r != 0)
                return r;
        r = mark_published(spool, fd);
        if (r == 0)
                r = publish(spool, fd, name, replace, uid, ret_replaced);
        return spool_explain(spool, r);
}

int spool_free_name(Spool *spool, const char *name, char ret_name[static SPOOL_NAME_BYTES]) {
        char candidate[SPOOL_NAME_BYTES];
        size_t n;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        if (snapshot_name_complaint(span_of(name)))
                return -EINVAL;
        n = strlen(name);
        memcpy(candidate, name, n + 1);
        for (unsigned i = 2; i < LIMIT_NAME_SUFFIX; i++) {
                r = spool_stat(spool, candidate, NULL);
                if (r == SPOOL_E_NOT_FOUND) {
                        memcpy(ret_name, candidate, sizeof(candidate));
                        return 0;
                }
                if (r != 0)
                        return err_fold(r);
                if ((size_t) snprintf(candidate, sizeof(candidate), "%s-%u", name, i) >=
                    sizeof(candidate))
                        return -ENAMETOOLONG;
        }
        return SPOOL_E_EXISTS;
}

/*
 * Copies @from into a temporary of the new name, and syncs it. Not under the lock: a file may be so
 * large that others would give up waiting.
 */
static int make_copy(Spool *spool, int from, const char *new_name, Head *head, int *ret) {
        _cleanup_(fd_closep) int to = -EBADF;
        uint64_t n_bytes;
        int r;

        r = spool_temporary(spool, &to);
        if (r != 0)
                return r;
        memcpy(head->name, new_name, strlen(new_name) + 1);
        r = snapshot_file_rehead(from, to, head, &n_bytes, NULL);
        if (r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED)
                r = SPOOL_E_DAMAGED;
        else
                r = err_fold(r);
        if (r == 0)
                r = spool_sync_fd(to);
        if (r == 0)
                *ret = TAKE_FD(to);
        else
                spool_discard(spool, to);
        return r;
}

int spool_publish_untagged(Spool *spool, int fd, const char *name, Head *head) {
        _cleanup_(fd_closep) int lock = -EBADF, copy = -EBADF;
        char free_name[SPOOL_NAME_BYTES];
        int r;

        r = sync_and_lock(spool, fd, &lock);
        if (r != 0)
                return r;
        r = mark_published(spool, fd);
        if (r == 0)
                r = publish(spool, fd, head->name, false, 0, NULL);
        while (r == SPOOL_E_EXISTS) {
                /* The head has the name, so each attempt takes a copy, for which nobody waits. */
                lock = fd_close(lock);
                spool_discard(spool, copy);
                copy = fd_close(copy);
                r = spool_free_name(spool, name, free_name);
                /* What has that name is no file, which is found only on publishing. */
                if (r == 0 && strcmp(free_name, head->name) == 0)
                        r = SPOOL_E_EXISTS;
                if (r != 0)
                        break;
                r = make_copy(spool, fd, free_name, head, &copy);
                if (r == 0)
                        r = spool_lock(spool, &lock);
                if (r == 0)
                        r = mark_published(spool, copy);
                if (r == 0)
                        r = publish(spool, copy, head->name, false, 0, NULL);
        }
        if (r == 0)
                spool_describe(copy >= 0 ? copy : fd, head);
        spool_discard(spool, copy);
        return spool_explain(spool, r);
}

/* removing */

/* One lock covers the checks of all and the removal of all. */
int spool_remove(Spool *spool, Head *heads, size_t n, uid_t uid, size_t *ret_culprit) {
        _cleanup_(fd_closep) int lock = -EBADF;
        int r;

        *ret_culprit = 0;
        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_lock(spool, &lock);
        for (size_t i = 0; r == 0 && i < n; i++) {
                *ret_culprit = i;
                r = check_owner(spool, heads[i].name, uid);
        }
        for (size_t i = 0; r == 0 && i < n; i++) {
                char name[SPOOL_NAME_BYTES], file[SPOOL_FILE_BYTES];

                *ret_culprit = i;
                memcpy(name, heads[i].name, sizeof(name));
                read_old_head(spool, name, &heads[i]);
                /* Another who may write to the directory may have been quicker. */
                if (!spool_file_name(name, file))
                        r = SPOOL_E_NOT_FOUND;
                else if (unlinkat(spool->dir_fd, file, 0) < 0 && errno != ENOENT)
                        r = -errno;
                else
                        spool_note(spool, &spool->change.removed, name);
        }
        if (r == 0)
                r = spool_sync_fd(spool->dir_fd);
        return spool_explain(spool, r);
}

/* Returned besides SPOOL_E_*: another file has got the name meanwhile, and nothing was done. */
enum { RENAME_OVERTAKEN = 1000 };

/* Under the lock. */
static int open_old(Spool *spool, const char *name, const char *new_name, uid_t uid, int *ret_fd,
                    Head *ret_head) {
        int r = check_owner(spool, name, uid);

        if (r != 0)
                return r;
        r = spool_stat(spool, new_name, NULL);
        if (r != SPOOL_E_NOT_FOUND)
                return r == 0 ? SPOOL_E_EXISTS : r;
        return spool_open_snapshot(spool, name, ret_fd, ret_head);
}

/*
 * Others write at the same time: together they leave free what must stay free, although for a while
 * the snapshot is there twice.
 */
static int check_room(const Spool *spool, const SpoolLimits *limits, int fd) {
        uint64_t n_room;
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        r = spool_find_room(spool, limits, &n_room);
        if (r < 0)
                return r;
        return (uint64_t) st.st_size > n_room ? -EFBIG : 0;
}

/*
 * Under the lock. It was free for others while the copy was made, so the old name must still mean
 * the file that was copied: the one that is removed.
 */
static int replace_old(Spool *spool, const char *name, int from, int copy, const char *new_name) {
        char file[SPOOL_FILE_BYTES];
        struct stat st, now;
        int r;

        if (!spool_file_name(name, file))
                return SPOOL_E_NOT_FOUND;
        r = spool_stat(spool, name, &now);
        if (r == 0 && fstat(from, &st) < 0)
                r = -errno;
        if (r != 0)
                return r;
        if (now.st_dev != st.st_dev || now.st_ino != st.st_ino)
                return RENAME_OVERTAKEN;
        r = set_published(copy, spool_published_ns(&st));
        if (r == 0)
                r = publish(spool, copy, new_name, false, 0, NULL);
        if (r != 0)
                return r;
        if (unlinkat(spool->dir_fd, file, 0) < 0 && errno != ENOENT) {
                r = -errno;
                /*
                 * A snapshot has one name: when the old one cannot be removed, remove the new one.
                 */
                if (spool_file_name(new_name, file))
                        (void) unlinkat(spool->dir_fd, file, 0);
                return r;
        }
        spool_note(spool, &spool->change.removed, name);
        return spool_sync_fd(spool->dir_fd);
}

static int rename_snapshot(Spool *spool, const SpoolLimits *limits, const char *name,
                           const char *new_name, uid_t uid, Head *head) {
        _cleanup_(fd_closep) int lock = -EBADF, from = -EBADF, copy = -EBADF;
        int r;

        r = spool_lock(spool, &lock);
        if (r == 0)
                r = open_old(spool, name, new_name, uid, &from, head);
        if (r != 0)
                return r;
        lock = fd_close(lock);
        r = check_room(spool, limits, from);
        if (r != 0)
                return r;
        head->tagged = true;
        r = make_copy(spool, from, new_name, head, &copy);
        if (r != 0)
                return r;
        r = spool_lock(spool, &lock);
        if (r == 0)
                r = replace_old(spool, name, from, copy, new_name);
        if (r == 0)
                spool_describe(copy, head);
        spool_discard(spool, copy);
        return r;
}

int spool_rename(Spool *spool, const SpoolLimits *limits, const char *name, const char *new_name,
                 uid_t uid, Head *ret_head) {
        _cleanup_(head_done) Head head = {};
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        if (snapshot_name_new_complaint(span_of(new_name)))
                return -EINVAL;
        /* Its owner may replace it again and again; the time limit of the job ends that. */
        do {
                head_done(&head);
                head = (Head){};
                r = rename_snapshot(spool, limits, name, new_name, uid, &head);
        } while (r == RENAME_OVERTAKEN);
        if (r != 0)
                return spool_explain(spool, r);
        if (ret_head) {
                *ret_head = head;
                head.imported_from = NULL;
        }
        return 0;
}
