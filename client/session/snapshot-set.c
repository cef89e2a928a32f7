/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/snapshot-set.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "view/glob.h"
#include "render/cell.h"
#include "session/complain.h"
#include "session/snapshot-call.h"
#include "wire/message-object.h"

void snapshot_names_done(SnapshotNames *names) {
        (void) json_object_put(names->reply);
        names->reply = NULL;
}

void snapshot_set_done(SnapshotSet *set) {
        for (size_t i = 0; i < set->n; i++) {
                subject_done(&set->subjects[i]);
                free(set->texts[i]);
        }
        set->n = 0;
}

static bool is_in(const SnapshotSet *set, const char *text) {
        for (size_t i = 0; i < set->n; i++)
                if (strcmp(set->texts[i], text) == 0)
                        return true;
        return false;
}

/* Takes ownership of @text. */
static int add(SnapshotSet *set, char *text) {
        int r;

        if (!text)
                return complain_errno(-ENOMEM, "read the list of snapshots");
        if (set->n == ELEMENTSOF(set->subjects)) {
                free(text);
                return complain(STATUS_USAGE, "%s names more than %u snapshots.", set->option,
                                LIMIT_SNAPSHOTS_PER_CALL);
        }
        set->texts[set->n] = text;
        r = subject_open(text, &set->subjects[set->n]);
        set->n++;
        return r;
}

/* globs */

bool snapshot_is_glob(const char *text) {
        return !snapshot_name_is_file(text) && strpbrk(text, "*?[");
}

static int add_matches(SnapshotNames *names, SnapshotSet *set, const char *glob) {
        json_object *heads = cell_member(names->reply, "snapshots");
        size_t n = cell_length(heads), n_matches = 0;
        char quoted[QUOTE_BYTES];
        int r = 0;

        for (size_t i = n; r == 0 && i > 0; i--) { /* the newest is first */
                json_object *name = cell_member(cell_element(heads, i - 1), "name");

                if (!name || !glob_matches_text(span_of(glob), cell_string(name)))
                        continue;
                n_matches++;
                if (!is_in(set, json_object_get_string(name)))
                        r = add(set, strdup(json_object_get_string(name)));
        }
        if (r == 0 && n_matches == 0)
                return complain(STATUS_FAILED,
                                "No snapshot of the spool has a name that matches %s: "
                                "\"ctprofctl list\" shows all names.",
                                quote(glob, quoted));
        return r;
}

static int add_glob(SnapshotNames *names, SnapshotSet *set, const char *glob) {
        char quoted[QUOTE_BYTES];
        int r = glob_check_text(span_of(glob));

        if (r != GLOB_OK)
                return complain(STATUS_USAGE, "The glob %s in %s is wrong: %s.",
                                quote(glob, quoted), set->option, glob_fault(r));
        r = names->reply ? 0 : list_snapshots(names->session, false, &names->reply);
        return r == 0 ? add_matches(names, set, glob) : r;
}

/* the list */

static Span trim(Span entry) {
        while (entry.n > 0 && entry.bytes[0] == ' ')
                entry = (Span){ entry.bytes + 1, entry.n - 1 };
        while (entry.n > 0 && entry.bytes[entry.n - 1] == ' ')
                entry.n--;
        return entry;
}

static int add_entry(SnapshotNames *names, SnapshotSet *set, Span entry) {
        char quoted[QUOTE_BYTES], *text;
        int r;

        entry = trim(entry);
        if (entry.n == 0)
                return complain(STATUS_USAGE,
                                "%s has an empty entry: separate snapshots by one comma each.",
                                set->option);
        text = strndup(entry.bytes, entry.n);
        if (!text || !snapshot_is_glob(text)) {
                if (text && is_in(set, text)) {
                        r = complain(STATUS_USAGE, "%s names %s twice.", set->option,
                                     quote(text, quoted));
                        free(text);
                        return r;
                }
                return add(set, text);
        }
        r = add_glob(names, set, text);
        free(text);
        return r;
}

int snapshot_set_parse(SnapshotNames *names, const char *option, const char *list,
                       SnapshotSet *ret) {
        int r = 0;

        *ret = (SnapshotSet){ .option = option };
        for (const char *entry = list; r == 0 && entry;) {
                size_t n = strcspn(entry, ",");

                r = add_entry(names, ret, (Span){ entry, n });
                entry = entry[n] == ',' ? entry + n + 1 : NULL;
        }
        return r;
}

static size_t count_snapshots(const SnapshotSet *set) {
        size_t n = set->n;

        for (size_t i = 0; i < set->n; i++)
                n += set->subjects[i].is_interval;
        return n;
}

int snapshot_set_check_pair(const SnapshotSet *before, const SnapshotSet *after) {
        char quoted[QUOTE_BYTES];
        size_t n;

        for (size_t i = 0; i < after->n; i++)
                if (is_in(before, after->texts[i]))
                        return complain(STATUS_USAGE,
                                        "%s is in both sets: a snapshot is either before or after.",
                                        quote(after->texts[i], quoted));
        n = count_snapshots(before) + count_snapshots(after);
        if (n > LIMIT_SNAPSHOTS_PER_CALL)
                return complain(STATUS_USAGE,
                                "Two sets have at most %u snapshots together: these have %zu.",
                                LIMIT_SNAPSHOTS_PER_CALL, n);
        return 0;
}

void snapshot_set_write_json(JsonWriter *writer, const SnapshotSet *set, int *fds, size_t *n_fds) {
        json_write_array(writer);
        for (size_t i = 0; i < set->n; i++)
                subject_write_json(writer, &set->subjects[i], fds, n_fds);
        json_write_end(writer);
}

bool snapshot_set_is_files(const SnapshotSet *set) {
        for (size_t i = 0; i < set->n; i++)
                if (!subject_is_of_files(&set->subjects[i]))
                        return false;
        return true;
}
