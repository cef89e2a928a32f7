/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/snapshot-set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
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

static int add_glob(SnapshotNames *names, SnapshotSet *set, const char *glob) {
        char quoted[QUOTE_BYTES];
        json_object *heads;
        size_t n_matches = 0;
        int r = glob_check_text(span_of(glob));

        if (r != GLOB_OK)
                return complain(STATUS_USAGE, "The glob %s in %s is wrong: %s.",
                                quote(glob, quoted), set->option, glob_fault(r));
        r = names->reply ? 0 : list_snapshots(names->session, false, &names->reply);
        heads = cell_member(names->reply, "snapshots");
        for (size_t i = cell_length(heads); r == 0 && i > 0; i--) { /* the newest is first */
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

/* chosen by their heads */

#define MAX_CHOICE_ENTRIES 16u

/* A key stands in front of "=", and is a member of the head. */
static const struct {
        const char *key, *member;
} head_keys[] = {
        { "host", "hostName" },     { "kernel", "kernelRelease" },
        { "machine", "machineId" }, { "boot", "bootId" },
        { "user", "uid" },          { "version", "toolVersion" },
};

typedef struct Condition {
        unsigned key;     /* of head_keys */
        const char *glob; /* borrowed of the texts */
} Condition;

/* The entries of a list that choose. */
typedef struct Choice {
        char *texts[MAX_CHOICE_ENTRIES]; /* owned */
        size_t n_texts;
        Condition conditions[MAX_CHOICE_ENTRIES];
        size_t n_conditions;
        const char *directories[MAX_CHOICE_ENTRIES]; /* borrowed of the texts */
        size_t n_directories;
} Choice;

static void choice_done(Choice *choice) {
        for (size_t i = 0; i < choice->n_texts; i++)
                free(choice->texts[i]);
}

/* Takes ownership of @text, a directory or a condition. */
static int add_choice(const SnapshotSet *set, Choice *choice, char *text) {
        const char *equals = strchr(text, '=');
        char quoted[QUOTE_BYTES];
        unsigned key = 0;
        int r;

        if (choice->n_texts == MAX_CHOICE_ENTRIES) {
                free(text);
                return complain(STATUS_USAGE,
                                "%s chooses by more than %u members of heads and directories.",
                                set->option, MAX_CHOICE_ENTRIES);
        }
        choice->texts[choice->n_texts++] = text;
        if (text[strlen(text) - 1] == '/' || !equals) {
                choice->directories[choice->n_directories++] = text;
                return 0;
        }
        while (key < ELEMENTSOF(head_keys) &&
               !span_is((Span){ text, (size_t) (equals - text) }, head_keys[key].key))
                key++;
        if (key == ELEMENTSOF(head_keys))
                return complain(STATUS_USAGE,
                                "%s in %s names no member of a head: there are host, kernel, "
                                "machine, boot, user, version.",
                                quote(text, quoted), set->option);
        r = glob_check_text(span_of(equals + 1));
        if (r != GLOB_OK)
                return complain(STATUS_USAGE, "The glob of %s in %s is wrong: %s.",
                                quote(text, quoted), set->option, glob_fault(r));
        choice->conditions[choice->n_conditions++] = (Condition){ key, equals + 1 };
        return 0;
}

/* A head has to fit one condition of each key that has any. */
static bool fits(const Choice *choice, json_object *head) {
        for (unsigned key = 0; key < ELEMENTSOF(head_keys); key++) {
                json_object *value = cell_member(head, head_keys[key].member);
                bool is_asked = false, is_fit = false;

                for (size_t i = 0; !is_fit && i < choice->n_conditions; i++) {
                        if (choice->conditions[i].key != key)
                                continue;
                        is_asked = true;
                        is_fit = value && glob_matches_text(span_of(choice->conditions[i].glob),
                                                            span_of(json_object_get_string(value)));
                }
                if (is_asked && !is_fit)
                        return false;
        }
        return true;
}

static int is_snapshot_file(const struct dirent *entry) {
        return entry->d_name[0] != '.' && snapshot_name_is_file(entry->d_name);
}

static int choose_file(Session *session, SnapshotSet *set, const Choice *choice,
                       const char *directory, const char *name) {
        _cleanup_(reference_done) Reference file = REFERENCE_EMPTY;
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(freep) char *path = NULL;
        int r;

        if (asprintf(&path, "%s%s", directory, name) < 0) {
                path = NULL;
                return complain_errno(-ENOMEM, "read the list of snapshots");
        }
        if (choice->n_conditions > 0) {
                r = reference_open_file(path, &file);
                if (r == 0)
                        r = describe_snapshot(session, &file, &reply);
                if (r != 0 || !fits(choice, cell_member(reply, "snapshot")))
                        return r;
        }
        return is_in(set, path) ? 0 : add(set, TAKE_PTR(path));
}

static int choose_from_directory(Session *session, SnapshotSet *set, const Choice *choice,
                                 const char *directory) {
        struct dirent **entries;
        char quoted[QUOTE_BYTES];
        int n = scandir(directory, &entries, is_snapshot_file, alphasort), r = 0;

        if (n < 0)
                return complain(STATUS_FAILED, "The directory %s cannot be read: %s.",
                                quote(directory, quoted), strerror(errno));
        for (int i = 0; i < n; i++) {
                if (r == 0)
                        r = choose_file(session, set, choice, directory, entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        return r;
}

/* Adds what the conditions and the directories of the list stand for together. */
static int add_chosen(SnapshotNames *names, SnapshotSet *set, const Choice *choice) {
        size_t n_before = set->n;
        json_object *heads = NULL;
        int r = 0;

        if (choice->n_texts == 0)
                return 0;
        for (size_t i = 0; r == 0 && i < choice->n_directories; i++)
                r = choose_from_directory(names->session, set, choice, choice->directories[i]);
        if (r == 0 && choice->n_directories == 0) {
                if (!names->reply)
                        r = list_snapshots(names->session, false, &names->reply);
                heads = cell_member(names->reply, "snapshots");
        }
        for (size_t i = cell_length(heads); r == 0 && i > 0; i--) { /* the newest is first */
                json_object *head = cell_element(heads, i - 1), *name = cell_member(head, "name");

                if (name && fits(choice, head) && !is_in(set, json_object_get_string(name)))
                        r = add(set, strdup(json_object_get_string(name)));
        }
        if (r == 0 && set->n == n_before)
                return complain(STATUS_FAILED,
                                "No snapshot of %s is what %s chooses: \"ctprofctl info SNAPSHOT "
                                "--json\" shows the head of one.",
                                choice->n_directories > 0 ? "the directory" : "the spool",
                                set->option);
        return r;
}

/* the list */

static int add_entry(SnapshotNames *names, SnapshotSet *set, Choice *choice, Span entry) {
        char quoted[QUOTE_BYTES], *text;
        int r;

        while (entry.n > 0 && entry.bytes[0] == ' ')
                entry = (Span){ entry.bytes + 1, entry.n - 1 };
        while (entry.n > 0 && entry.bytes[entry.n - 1] == ' ')
                entry.n--;
        if (entry.n == 0)
                return complain(STATUS_USAGE,
                                "%s has an empty entry: separate snapshots by one comma each.",
                                set->option);
        text = strndup(entry.bytes, entry.n);
        /* A name of the spool has no "=", and a path is one although it has. */
        if (text &&
            (text[entry.n - 1] == '/' || (!snapshot_name_is_file(text) && strchr(text, '='))))
                return add_choice(set, choice, text);
        if (!text || snapshot_name_is_file(text) || !strpbrk(text, "*?[")) {
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
        _cleanup_(choice_done) Choice choice = {};
        int r = 0;

        *ret = (SnapshotSet){ .option = option };
        for (const char *entry = list; r == 0 && entry;) {
                size_t n = strcspn(entry, ",");

                r = add_entry(names, ret, &choice, (Span){ entry, n });
                entry = entry[n] == ',' ? entry + n + 1 : NULL;
        }
        return r == 0 ? add_chosen(names, ret, &choice) : r;
}

int snapshot_set_check_pair(const SnapshotSet *before, const SnapshotSet *after) {
        size_t n = before->n + after->n;
        char quoted[QUOTE_BYTES];

        for (size_t i = 0; i < after->n; i++)
                if (is_in(before, after->texts[i]))
                        return complain(STATUS_USAGE,
                                        "%s is in both sets: a snapshot is either before or after.",
                                        quote(after->texts[i], quoted));
        /* An interval is two. */
        for (size_t i = 0; i < before->n; i++)
                n += before->subjects[i].is_interval;
        for (size_t i = 0; i < after->n; i++)
                n += after->subjects[i].is_interval;
        if (n > LIMIT_SNAPSHOTS_PER_CALL)
                return complain(STATUS_USAGE,
                                "Two sets have at most %u snapshots together: these have %zu.",
                                LIMIT_SNAPSHOTS_PER_CALL, n);
        return 0;
}
