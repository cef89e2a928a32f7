/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work-spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macro.h"
#include "spool/spool-index.h"
#include "spool/spool-failure.h"

void spool_parameters_done(SpoolParameters *parameters) {
        parameters->directory = fd_close(parameters->directory);
        parameters->roll = fd_close(parameters->roll);
}

/* Also true when it cannot be found out. */
static bool has_files_of_others(int directory, uid_t own) {
        int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *walk = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;
        struct stat status;
        bool found = false;

        if (!walk) {
                (void) fd_close(fd);
                return true;
        }
        do {
                errno = 0;
                entry = readdir(walk);
                if (!entry)
                        found = errno != 0;
                else if (strcmp(entry->d_name, "..") != 0)
                        found = fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ==
                                        0 &&
                                status.st_uid != own;
        } while (entry && !found);
        (void) closedir(walk);
        return found;
}

uint64_t work_spool_capabilities(int directory) {
        struct stat status;

        if (fstat(directory, &status) < 0 || status.st_uid != geteuid())
                return UINT64_MAX;
        return has_files_of_others(directory, geteuid()) ? SANDBOX_CAPABILITY(DAC_READ_SEARCH) : 0;
}

int work_adopt_spool(Work *work, SpoolParameters *parameters, Spool **ret) {
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r;

        r = work_confine(work, work_spool_capabilities(parameters->directory));
        if (r != 0)
                return r;
        r = spool_adopt(parameters->directory, parameters->path ? parameters->path : "", &spool);
        if (r < 0)
                return r;
        (void) TAKE_FD(parameters->directory);
        if (r != 0)
                return work_refuse_spool(work, spool, "", r);
        r = spool_take_roll(spool, TAKE_FD(parameters->roll));
        if (r == 0)
                *ret = TAKE_PTR(spool);
        return r;
}

int work_decode_limits(Work *work, const SpoolParameters *parameters, SpoolLimits *ret) {
        static const Parameter table[] = {
                { JOB_KEY_MAX_BYTES, PARAMETER_U64, true, offsetof(SpoolLimits, max_bytes) },
                { JOB_KEY_KEEP_FREE_BYTES, PARAMETER_U64, true,
                  offsetof(SpoolLimits, keep_free_bytes) },
                { JOB_KEY_KEEP_FREE_FILES, PARAMETER_U64, true,
                  offsetof(SpoolLimits, keep_free_files) },
                { JOB_KEY_MAX_AGE_NS, PARAMETER_U64, true, offsetof(SpoolLimits, max_age_ns) },
                { JOB_KEY_RESERVED_BYTES, PARAMETER_U64, true,
                  offsetof(SpoolLimits, reserved_bytes) },
                { JOB_KEY_MAX_SNAPSHOTS, PARAMETER_U64, true,
                  offsetof(SpoolLimits, max_snapshots) },
                { JOB_KEY_MAX_SNAPSHOTS_PER_UID, PARAMETER_U64, true,
                  offsetof(SpoolLimits, max_snapshots_per_uid) },
        };
        SpoolLimits limits = {};
        int r = 0;

        if (parameters->limits)
                r = work_decode_member(work, parameters->limits, JOB_KEY_LIMITS, table,
                                       ELEMENTSOF(table), &limits);
        if (r != 0)
                return r;
        *ret = limits;
        return 0;
}

int work_refuse_spool(Work *work, Spool *spool, const char *name, int r) {
        SpoolFailure failure;

        if (!spool_failure_init(&failure, spool, NULL, name, r))
                return err_fold(r);
        return work_refuse(work, failure.error, &failure.detail);
}

int work_time_name(const Head *head, char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]) {
        uint64_t ms = head->start_realtime_ns / NSEC_PER_MSEC;
        time_t seconds = (time_t) (ms / 1000);
        struct tm utc;
        size_t n;

        if (!gmtime_r(&seconds, &utc))
                return -EOVERFLOW;
        n = strftime(ret_name, SNAPSHOT_NAME_MAX_CHARS + 1, "%Y%m%dT%H%M%S", &utc);
        (void) snprintf(ret_name + n, SNAPSHOT_NAME_MAX_CHARS + 1 - n, ".%03uZ",
                        (unsigned) (ms % 1000));
        return 0;
}

int work_await_disk(Work *work, Spool *spool, int file) {
        if (fsync(file) != 0)
                return work_refuse_spool(work, spool, "", spool_explain(spool, -errno));
        return answer_has_peer(&work->answer) ? 0 : -ECANCELED;
}

int work_tell_change(Work *work, Spool *spool) {
        JsonWriter *writer = answer_begin(&work->answer);
        bool is_told;

        json_write_key(writer, JOB_KEY_SPOOL_CHANGE);
        json_write_object(writer);
        is_told = spool_change_write(spool, writer);
        json_write_end(writer);
        return is_told ? answer_note(&work->answer) : 0;
}

void work_write_rotated(JsonWriter *writer, const Buffer *rotated) {
        Span rest = buffer_span(rotated);

        if (rest.n == 0)
                return;
        json_write_key(writer, "rotated");
        json_write_array(writer);
        while (rest.n > 0) {
                const char *end = memchr(rest.bytes, '\n', rest.n);
                size_t n = end ? (size_t) (end - rest.bytes) : rest.n;

                json_write_name(writer, (Span){ rest.bytes, n });
                n += end ? 1 : 0;
                rest = (Span){ rest.bytes + n, rest.n - n };
        }
        json_write_end(writer);
}
