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

static bool is_directory(const char *text) {
        return text[strlen(text) - 1] == '/';
}

/* A name of the spool has no "=", and a path is one although it has. */
static bool is_choice(const char *text) {
        return is_directory(text) || (!snapshot_name_is_file(text) && strchr(text, '='));
}

static int add_condition(const SnapshotSet *set, Choice *choice, const char *text) {
        const char *glob = strchr(text, '=') + 1;
        Span key = { text, (size_t) (glob - text) - 1 };
        char quoted[QUOTE_BYTES];
        unsigned i = 0;
        int r;

        while (i < ELEMENTSOF(head_keys) && !span_is(key, head_keys[i].key))
                i++;
        if (i == ELEMENTSOF(head_keys))
                return complain(STATUS_USAGE,
                                "%s in %s names no member of a head: there are host, kernel, "
                                "machine, boot, user, version.",
                                quote(text, quoted), set->option);
        r = glob_check_text(span_of(glob));
        if (r != GLOB_OK)
                return complain(STATUS_USAGE, "The glob of %s in %s is wrong: %s.",
                                quote(text, quoted), set->option, glob_fault(r));
        choice->conditions[choice->n_conditions++] = (Condition){ i, glob };
        return 0;
}

/* Takes ownership of @text. */
static int add_choice(const SnapshotSet *set, Choice *choice, char *text) {
        if (choice->n_texts == MAX_CHOICE_ENTRIES) {
                free(text);
                return complain(STATUS_USAGE,
                                "%s chooses by more than %u members of heads and directories.",
                                set->option, MAX_CHOICE_ENTRIES);
        }
        choice->texts[choice->n_texts++] = text;
        if (!is_directory(text))
                return add_condition(set, choice, text);
        choice->directories[choice->n_directories++] = text;
        return 0;
}

static bool fits_key(const Choice *choice, unsigned key, json_object *head) {
        json_object *value = cell_member(head, head_keys[key].member);
        bool is_asked = false;

        for (size_t i = 0; i < choice->n_conditions; i++) {
                const Condition *condition = &choice->conditions[i];

                if (condition->key != key)
                        continue;
                is_asked = true;
                if (value && glob_matches_text(span_of(condition->glob),
                                               span_of(json_object_get_string(value))))
                        return true;
        }
        return !is_asked;
}

static bool fits(const Choice *choice, json_object *head) {
        for (unsigned key = 0; key < ELEMENTSOF(head_keys); key++)
                if (!fits_key(choice, key, head))
                        return false;
        return true;
}

static int choose_from_spool(SnapshotNames *names, SnapshotSet *set, const Choice *choice) {
        int r = names->reply ? 0 : list_snapshots(names->session, false, &names->reply);
        json_object *heads = cell_member(names->reply, "snapshots");

        for (size_t i = cell_length(heads); r == 0 && i > 0; i--) { /* the newest is first */
                json_object *head = cell_element(heads, i - 1), *name = cell_member(head, "name");

                if (name && fits(choice, head) && !is_in(set, json_object_get_string(name)))
                        r = add(set, strdup(json_object_get_string(name)));
        }
        return r;
}

static int examine_file(Session *session, const Choice *choice, const char *path, bool *ret) {
        _cleanup_(reference_done) Reference file = REFERENCE_EMPTY;
        _cleanup_(message_object_freep) json_object *reply = NULL;
        int r;

        *ret = true;
        if (choice->n_conditions == 0)
                return 0;
        r = reference_open_file(path, &file);
        if (r == 0)
                r = describe_snapshot(session, &file, &reply);
        if (r == 0)
                *ret = fits(choice, cell_member(reply, "snapshot"));
        return r;
}

static int is_snapshot_file(const struct dirent *entry) {
        return entry->d_name[0] != '.' && snapshot_name_is_file(entry->d_name);
}

static int choose_file(Session *session, SnapshotSet *set, const Choice *choice,
                       const char *directory, const char *name) {
        _cleanup_(freep) char *path = NULL;
        bool is_chosen;
        int r;

        if (asprintf(&path, "%s%s", directory, name) < 0) {
                path = NULL;
                return complain_errno(-ENOMEM, "read the list of snapshots");
        }
        r = examine_file(session, choice, path, &is_chosen);
        return r == 0 && is_chosen && !is_in(set, path) ? add(set, TAKE_PTR(path)) : r;
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
        int r = 0;

        if (choice->n_texts == 0)
                return 0;
        for (size_t i = 0; r == 0 && i < choice->n_directories; i++)
                r = choose_from_directory(names->session, set, choice, choice->directories[i]);
        if (r == 0 && choice->n_directories == 0)
                r = choose_from_spool(names, set, choice);
        if (r == 0 && set->n == n_before)
                return complain(STATUS_FAILED,
                                "No snapshot of %s is what %s chooses: \"ctprofctl info SNAPSHOT "
                                "--json\" shows the head of one.",
                                choice->n_directories > 0 ? "the directory" : "the spool",
                                set->option);
        return r;
}

/* the list */

static Span trim(Span entry) {
        while (entry.n > 0 && entry.bytes[0] == ' ')
                entry = (Span){ entry.bytes + 1, entry.n - 1 };
        while (entry.n > 0 && entry.bytes[entry.n - 1] == ' ')
                entry.n--;
        return entry;
}

static int add_entry(SnapshotNames *names, SnapshotSet *set, Choice *choice, Span entry) {
        char quoted[QUOTE_BYTES], *text;
        int r;

        entry = trim(entry);
        if (entry.n == 0)
                return complain(STATUS_USAGE,
                                "%s has an empty entry: separate snapshots by one comma each.",
                                set->option);
        text = strndup(entry.bytes, entry.n);
        if (text && is_choice(text))
                return add_choice(set, choice, text);
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
