/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-change.h"

#include <string.h>

#include "spool/spool-directory.h"
#include "spool/spool-index.h"

/*
 * Between two locks of one job another process may have changed the directory. Then this job cannot
 * tell what happened, and says nothing.
 */
void spool_change_begin(Spool *spool) {
        SpoolChange *change = &spool->change;
        SpoolStamp now;
        int r;

        r = spool_stamp_read(spool->dir_fd, &now);
        if (!change->is_begun)
                change->before = change->after = now;
        if (r < 0 || !spool_stamp_equal(&change->after, &now))
                change->is_unclear = true;
        change->is_begun = true;
}

static void note(Spool *spool, Buffer *names, const char *name) {
        SpoolChange *change = &spool->change;

        buffer_append_text(names, name);
        if (buffer_append_byte(names, '\0') < 0 ||
            spool_stamp_read(spool->dir_fd, &change->after) < 0)
                change->is_unclear = true;
}

void spool_note_removed(Spool *spool, const char *name) {
        note(spool, &spool->change.removed, name);
}

void spool_note_added(Spool *spool, const char *name) {
        note(spool, &spool->change.added, name);
}

void spool_note_other(Spool *spool) {
        if (spool_stamp_read(spool->dir_fd, &spool->change.after) < 0)
                spool->change.is_unclear = true;
}

void spool_change_done(SpoolChange *change) {
        buffer_done(&change->removed);
        buffer_done(&change->added);
}

/* Calls @write for each name. */
static void each_name(Spool *spool, const Buffer *names, JsonWriter *writer,
                      void (*write)(Spool *spool, const char *name, JsonWriter *writer)) {
        json_write_array(writer);
        for (size_t at = 0; at < names->n; at += strlen(names->bytes + at) + 1)
                write(spool, names->bytes + at, writer);
        json_write_end(writer);
}

static void write_name(Spool *spool, const char *name, JsonWriter *writer) {
        json_write_text(writer, name);
}

/* What cannot be read now is no entry, and the index, which refuses it, is read anew. */
static void write_entry(Spool *spool, const char *name, JsonWriter *writer) {
        SpoolEntry entry;

        if (spool_read_entry(spool, name, &entry) != 0) {
                json_write_null(writer);
                return;
        }
        if (entry.is_unread)
                json_write_null(writer);
        else
                spool_entry_write(writer, &entry);
        head_done(&entry.head);
}

/* Within one tick of the clock the stamp stays the same, and only the names tell of the change. */
static bool has_changed(const SpoolChange *change) {
        return change->removed.n > 0 || change->added.n > 0 ||
               !spool_stamp_equal(&change->before, &change->after);
}

bool spool_change_write(Spool *spool, JsonWriter *writer) {
        const SpoolChange *change = &spool->change;

        if (!change->is_begun || change->is_unclear || !has_changed(change))
                return false;
        spool_stamp_write(writer, "before", &change->before);
        spool_stamp_write(writer, "after", &change->after);
        json_write_key(writer, "removed");
        each_name(spool, &change->removed, writer, write_name);
        json_write_key(writer, "added");
        each_name(spool, &change->added, writer, write_entry);
        return true;
}
