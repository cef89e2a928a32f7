/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "spool/spool-failure.h"
#include "spool/spool-index.h"
#include "wire/limits.h"

/* the spool of an order */

uint64_t work_spool_capabilities(int directory) {
        const uint64_t reads_all = SANDBOX_CAPABILITY(DAC_READ_SEARCH);
        const struct dirent *entry;
        bool found = false;
        struct stat status;
        DIR *walk;
        int fd;

        if (fstat(directory, &status) < 0 || status.st_uid != geteuid())
                return UINT64_MAX;
        fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        walk = fd < 0 ? NULL : fdopendir(fd);
        if (!walk) {
                (void) fd_close(fd);
                return reads_all;
        }
        do {
                errno = 0;
                entry = readdir(walk);
                if (!entry)
                        found = errno != 0;
                else if (strcmp(entry->d_name, "..") != 0)
                        found = fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ==
                                        0 &&
                                status.st_uid != geteuid();
        } while (entry && !found);
        (void) closedir(walk);
        return found ? reads_all : 0;
}

int work_open_spool(Work *work, const OrderSpool *order, bool enters, Spool **ret) {
        _cleanup_(fd_closep) int directory = work_take_fd(work, order->directory);
        _cleanup_(fd_closep) int roll = work_take_fd(work, order->roll);
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r = enters ? work_confine(work, work_spool_capabilities(directory)) : 0;

        if (r == 0)
                r = spool_adopt(directory, order->path, &spool);
        if (r != 0)
                return r;
        (void) TAKE_FD(directory);
        r = spool_take_roll(spool, TAKE_FD(roll));
        if (r == 0)
                *ret = TAKE_PTR(spool);
        return r;
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

/*
 * Tells the main process what this job did to the spool, when that is done and before the last
 * reply.
 */
static int tell_change(Work *work, Spool *spool) {
        _cleanup_(buffer_done) Buffer body = { .max_bytes = LIMIT_REPLY_BYTES - 1024u };
        int r = spool_change_pack(spool, &body);

        if (r < 0 || body.n == 0)
                return r;
        return answer_packet(&work->answer, PACKET_CHANGE, buffer_span(&body), NULL, 0);
}

/* Begins an answer with @n heads; the caller may add members. */
static JsonWriter *begin_heads(Work *work, const Head *heads, size_t n) {
        JsonWriter *writer = answer_begin(&work->answer);

        json_write_key(writer, "snapshots");
        json_write_array(writer);
        for (size_t i = 0; i < n; i++)
                head_write_json(writer, &heads[i]);
        json_write_end(writer);
        return writer;
}

/* publish */

typedef struct Publishing {
        Work *work;              /* borrowed */
        const SpoolOrder *order; /* borrowed */
        int file;                /* owned, as all below */
        Spool *spool;
        Head head, replaced; /* @replaced: without a name, none */
        Buffer rotated;
} Publishing;

static void publishing_done(Publishing *publishing) {
        /* It is unnamed, or a temporary, unless it was published. */
        if (publishing->spool)
                spool_discard(publishing->spool, publishing->file);
        publishing->file = fd_close(publishing->file);
        publishing->spool = spool_free(publishing->spool);
        head_done(&publishing->head);
        head_done(&publishing->replaced);
        buffer_done(&publishing->rotated);
}

static int publish(Publishing *publishing) {
        const SpoolOrder *order = publishing->order;
        bool is_named = order->name.text[0] != '\0';
        Work *work = publishing->work;
        Spool *spool = publishing->spool;
        Head *head = &publishing->head;
        SpoolNeed need = { .uid = order->uid,
                           .replaces = order->replace && is_named ? order->name.text : NULL };
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        /*
         * Remove older snapshots only once this one is on the disk and its caller still waits.
         * Publishing syncs again, but then has nothing left to wait for; a peer that hangs up is
         * therefore noticed until a few system calls before the snapshot appears.
         */
        if (fsync(publishing->file) != 0)
                return work_refuse_spool(work, spool, "", spool_explain(spool, -errno));
        if (!answer_has_peer(&work->answer))
                return -ECANCELED;
        r = spool_allocated_bytes(publishing->file, &need.n_bytes);
        if (r < 0)
                return r;
        r = spool_make_room(spool, &order->spool.limits, &need, &publishing->rotated);
        if (r != 0) {
                /* So that the caller who reads the refusal and tries again finds the room free. */
                (void) !ftruncate(publishing->file, 0);
                return work_refuse_spool(work, spool, head->name, r);
        }
        if (is_named) {
                r = spool_publish(spool, publishing->file, head->name, order->replace, order->uid,
                                  &publishing->replaced);
                if (r == 0)
                        spool_describe(publishing->file, head);
        } else {
                /* Another capture may have taken the name, which is that of a millisecond. */
                memcpy(name, head->name, sizeof(name));
                r = spool_publish_untagged(spool, publishing->file, name, head);
        }
        return r == 0 ? 0 : work_refuse_spool(work, spool, head->name, r);
}

static int write_head(const Head *head, Buffer *text) {
        JsonWriter writer;

        if (head->name[0] == '\0')
                return 0;
        json_writer_init(&writer, text);
        head_write_json(&writer, head);
        return json_writer_finish(&writer);
}

int work_publish(Work *work) {
        const SpoolOrder *order = &work->order->spool;
        _cleanup_(publishing_done) Publishing publishing = {
                .work = work,
                .order = order,
                .file = work_take_fd(work, order->file),
        };
        _cleanup_(buffer_done) Buffer text = {}, replaced = {};
        const Head *head = &publishing.head;
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        SnapshotFault fault = {};
        bool is_named = order->name.text[0] != '\0';
        int r = 0;

        if (is_named)
                r = work_check_name(work, order->name.text);
        if (r == 0)
                r = work_open_spool(work, &order->spool, true, &publishing.spool);
        if (r != 0)
                return r;
        r = snapshot_file_read_head(publishing.file, &publishing.head, &fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED)
                return work_refuse_fault(work, order->name.text, &fault);
        if (r != 0)
                return err_fold(r);
        /*
         * The job that wrote the head reads what everybody on the host, or a stranger, can write:
         * so what decides about a snapshot (its name, whether it is tagged, whose it is, and if it
         * was captured here) has to be as ordered.
         */
        if (is_named)
                memcpy(name, order->name.text, sizeof(name));
        else
                r = work_time_name(head, name);
        if (r != 0)
                return r;
        if (strcmp(head->name, name) != 0 || head->tagged != order->tagged || !head->has_uid ||
            head->uid != order->uid || (head->imported_from != NULL) != order->is_import)
                return work_refuse(work, WIRE_ERROR_JOB_FAILED,
                                   &(WireErrorDetail){
                                           .reason = "the job before wrote a head that was "
                                                     "not ordered",
                                   });
        r = publish(&publishing);
        if (r == 0)
                r = tell_change(work, publishing.spool);
        if (r == 0)
                r = write_head(head, &text);
        if (r == 0)
                r = write_head(&publishing.replaced, &replaced);
        if (r != 0)
                return r;
        return answer_texts(&work->answer,
                            (const Span[]){ buffer_span(&text), buffer_span(&publishing.rotated),
                                            buffer_span(&replaced) },
                            3);
}

/* remove */

/* The snapshots to remove, with the heads they had before. */
typedef struct Removal {
        Spool *spool;
        size_t n;
        Head heads[LIMIT_NAMES_PER_LIST];
} Removal;

static Removal *removal_free(Removal *removal) {
        for (size_t i = 0; removal && i < removal->n; i++)
                head_done(&removal->heads[i]);
        if (removal)
                (void) spool_free(removal->spool);
        free(removal);
        return NULL;
}
DEFINE_CLEANUP(Removal *, removal_free);

int work_remove(Work *work) {
        const SpoolOrder *order = &work->order->spool;
        _cleanup_(removal_freep) Removal *removal = calloc(1, sizeof(*removal));
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        size_t culprit;
        int r;

        if (!removal)
                return -ENOMEM;

        r = work_open_spool(work, &order->spool, true, &removal->spool);
        if (r != 0)
                return r;
        for (uint32_t i = 0; i < order->n_names; i++) {
                const char *reference = order->names[i].text;
                bool is_there = false;

                r = spool_resolve(removal->spool, span_of(reference), name);
                if (r != 0)
                        return work_refuse_spool(work, removal->spool, reference, r);
                /* A snapshot that is named twice is removed once. */
                for (size_t k = 0; k < removal->n && !is_there; k++)
                        is_there = strcmp(removal->heads[k].name, name) == 0;
                if (!is_there)
                        memcpy(removal->heads[removal->n++].name, name, sizeof(name));
        }
        r = removal->n == 0 ? 0
                            : spool_remove(removal->spool, removal->heads, removal->n, order->uid,
                                           &culprit);
        if (r != 0)
                return work_refuse_spool(work, removal->spool, removal->heads[culprit].name, r);
        r = tell_change(work, removal->spool);
        if (r != 0)
                return r;
        (void) begin_heads(work, removal->heads, removal->n);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}

/* rename */

int work_rename(Work *work) {
        const SpoolOrder *order = &work->order->spool;
        const char *new_name = order->new_name.text;
        _cleanup_(spool_freep) Spool *spool = NULL;
        _cleanup_(head_done) Head head = {};
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        r = work_check_name(work, new_name);
        if (r == 0)
                r = work_open_spool(work, &order->spool, true, &spool);
        if (r != 0)
                return r;
        r = spool_resolve(spool, span_of(order->name.text), name);
        if (r != 0)
                return work_refuse_spool(work, spool, order->name.text, r);
        r = spool_rename(spool, &order->spool.limits, name, new_name, order->uid, &head);
        if (r != 0)
                return work_refuse_spool(work, spool, r == SPOOL_E_EXISTS ? new_name : name, r);
        r = tell_change(work, spool);
        if (r != 0)
                return r;
        json_write_member_text(begin_heads(work, &head, 1), "oldName", name);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}

/* clean */

int work_clean(Work *work) {
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r;

        r = work_open_spool(work, &work->order->spool.spool, true, &spool);
        if (r != 0)
                return r;
        r = spool_clean(spool);
        if (r != 0)
                return work_refuse_spool(work, spool, "", r);
        r = tell_change(work, spool);
        return r == 0 ? answer_texts(&work->answer, NULL, 0) : r;
}

/* survey */

/* The clock behind change times moves once in a tick of the kernel, every 10 ms at most. */
#define SETTLE_NS (20 * NSEC_PER_MSEC)
/* Somebody who changes the spool all the time must not keep a survey from its end. */
#define MAX_ROUNDS 3

int work_survey(Work *work) {
        _cleanup_(buffer_done) Buffer body = { .max_bytes = LIMIT_REPLY_BYTES - 1024u };
        const struct timespec pause = { .tv_nsec = SETTLE_NS };
        _cleanup_(spool_freep) Spool *spool = NULL;
        SpoolStamp stamp = {}, after = {};
        SpoolEntry *entries = NULL;
        char reason[128];
        uint64_t now_ns;
        size_t n = 0;
        int r;

        r = work_open_spool(work, &work->order->spool.spool, true, &spool);
        if (r != 0)
                return r;
        /* The list is one of a directory that did not change meanwhile. */
        for (unsigned round = 0; round < MAX_ROUNDS; round++) {
                spool_entries_free(entries, n);
                entries = NULL;
                n = 0;
                r = spool_stamp_read(spool->dir_fd, &stamp);
                if (r < 0)
                        break;
                /*
                 * Two changes within one tick have one time. Wait until the last change is older
                 * than that, so that any further one has another time.
                 */
                now_ns = clock_now_ns(CLOCK_REALTIME);
                if (now_ns >= stamp.change_ns && now_ns - stamp.change_ns < SETTLE_NS)
                        (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
                r = spool_list(spool, &entries, &n);
                if (r == 0)
                        r = spool_stamp_read(spool->dir_fd, &after);
                if (r != 0 || memcmp(&stamp, &after, sizeof(stamp)) == 0)
                        break;
        }
        /* An index with an unread entry is never current, so the next call has it read anew. */
        for (size_t i = 0; i < n; i++)
                if (entries[i].is_unread)
                        stamp = (SpoolStamp){};
        if (r != 0) {
                r = work_refuse_spool(work, spool, "", r);
        } else if (n > LIMIT_INDEXED_SNAPSHOTS) {
                (void) snprintf(reason, sizeof(reason),
                                "it has %zu snapshots, more than the %u that can be served; "
                                "remove files from its directory",
                                n, LIMIT_INDEXED_SNAPSHOTS);
                r = work_refuse(work, WIRE_ERROR_SPOOL_UNAVAILABLE,
                                &(WireErrorDetail){ .reason = reason });
        } else {
                for (size_t i = 0; i < n && r == 0; i++) {
                        r = spool_entry_pack(&body, &entries[i]);
                        if (r < 0 || (body.n < LIMIT_BATCH_BYTES && i + 1 < n))
                                continue;
                        r = answer_packet(&work->answer, PACKET_ENTRIES, buffer_span(&body), NULL,
                                          0);
                        buffer_clear(&body);
                }
                if (r == 0)
                        r = answer_packet(&work->answer, PACKET_RESULT,
                                          (Span){ (const char *) &stamp, sizeof(stamp) }, NULL, 0);
        }
        spool_entries_free(entries, n);
        return r;
}
