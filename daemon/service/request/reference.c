/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/reference.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

typedef struct ReferenceFields {
        const char *name;
        OptionalU64 index;
        const char *label;
        json_object *to; /* of a SubjectRef */
} ReferenceFields;

void reference_done(Request *request, Reference *reference) {
        reference->fd = request_close_fd(request, reference->fd);
}

int reference_find(Request *request, const char *name,
                   char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]) {
        const IndexEntry *entry = spool_view_resolve(request_view(request), span_of(name));

        if (spool_dir_fd(request->desk->spool) < 0)
                return request_fail_spool(request, name, SPOOL_E_UNAVAILABLE);
        if (!entry)
                return request_fail_spool(request, name, SPOOL_E_NOT_FOUND);
        memcpy(ret_name, entry->name, sizeof(entry->name));
        return 0;
}

int reference_open_name(Request *request, const char *name, Reference *ret) {
        Reference reference = REFERENCE_NONE;
        int r;

        r = reference_find(request, name, reference.name);
        if (r != 0)
                return r;
        /* The file is not read: a job finds out and explains what is wrong with it. */
        r = spool_open_snapshot(request->desk->spool, reference.name, &reference.fd, NULL);
        if (r != 0)
                return request_fail_spool(request, reference.name, r);
        *ret = reference;
        ret->label = ret->name;
        return 0;
}

static int open_descriptor(Request *request, const ReferenceFields *fields, Reference *ret) {
        int fd = request_take_fd(request, (size_t) fields->index.value);

        if (fd < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number, or names it twice.");
        *ret = (Reference){ .fd = fd, .label = fields->label };
        return 0;
}

/* The members of SnapshotRef, and last the one that only a SubjectRef has. */
static const Parameter reference_table[] = {
        { "name", PARAMETER_TEXT, false, offsetof(ReferenceFields, name) },
        { "fileDescriptor", PARAMETER_OPTIONAL_U64, false, offsetof(ReferenceFields, index) },
        { "label", PARAMETER_TEXT, false, offsetof(ReferenceFields, label) },
        { "to", PARAMETER_OBJECT, false, offsetof(ReferenceFields, to) },
};

enum {
        SUBJECT_PARAMETERS = ELEMENTSOF(reference_table),
        SNAPSHOT_PARAMETERS = SUBJECT_PARAMETERS - 1,
};

/* Decodes @object, the parameter @key, by the first @n_table rows, and opens what it refers to. */
static int open_object(Request *request, const char *key, json_object *object, size_t n_table,
                       Reference *ret, json_object **ret_to) {
        ReferenceFields fields = { .name = NULL };
        const char *culprit;
        int r;

        r = parameters_decode(object, reference_table, n_table, NULL, &fields, &culprit);
        if (r == PARAMETERS_E_INVALID)
                return request_refuse_parameter(request, culprit, NULL);
        if (r != 0)
                return err_fold(r);
        if (!fields.name == !fields.index.is_set)
                return request_refuse_parameter(request, key,
                                                "Give either \"name\" or \"fileDescriptor\".");
        *ret_to = fields.to;
        return fields.name ? reference_open_name(request, fields.name, ret)
                           : open_descriptor(request, &fields, ret);
}

int reference_open(Request *request, const char *key, json_object *object, Reference *ret) {
        json_object *to;

        return open_object(request, key, object, SNAPSHOT_PARAMETERS, ret, &to);
}

static int write_members(Request *request, JsonWriter *writer, Reference *reference) {
        int r = request_add_fd(request, writer, JOB_KEY_FILE_DESCRIPTOR, TAKE_FD(reference->fd));

        if (reference->label)
                json_write_member_text(writer, JOB_KEY_LABEL, reference->label);
        return r;
}

int reference_write(Request *request, JsonWriter *writer, Reference *reference) {
        int r;

        json_write_object(writer);
        r = write_members(request, writer, reference);
        json_write_end(writer);
        return r;
}

int reference_pass(Request *request, JsonWriter *writer, const char *key, json_object *object) {
        Reference reference = REFERENCE_NONE;
        int r;

        r = reference_open(request, key, object, &reference);
        if (r != 0)
                return r;
        json_write_key(writer, key);
        r = reference_write(request, writer, &reference);
        reference_done(request, &reference);
        return r;
}

/* Writes the SubjectRef @object, which is the parameter @key or an element of it. */
static int pass_subject(Request *request, JsonWriter *writer, const char *key,
                        json_object *object) {
        Reference reference = REFERENCE_NONE;
        json_object *to = NULL;
        int r;

        r = open_object(request, key, object, SUBJECT_PARAMETERS, &reference, &to);
        if (r != 0)
                return r;
        json_write_object(writer);
        r = write_members(request, writer, &reference);
        reference_done(request, &reference);
        if (r == 0 && to)
                r = reference_pass(request, writer, JOB_KEY_TO, to);
        json_write_end(writer);
        return r;
}

int reference_pass_subject(Request *request, JsonWriter *writer, const char *key,
                           json_object *object) {
        json_write_key(writer, key);
        return pass_subject(request, writer, key, object);
}

/* How many snapshots the references name; one that is wrong may count for any number. */
static size_t count_snapshots(json_object *array) {
        size_t n = json_object_array_length(array), n_intervals = 0;

        for (size_t i = 0; i < n; i++)
                if (json_object_object_get_ex(json_object_array_get_idx(array, i), JOB_KEY_TO,
                                              NULL))
                        n_intervals++;
        return n + n_intervals;
}

int reference_pass_subjects(Request *request, JsonWriter *writer, const char *key,
                            json_object *array) {
        int r = 0;

        if (request->n_fds + count_snapshots(array) > LIMIT_SNAPSHOTS_PER_CALL)
                return request_refuse_parameter(request, key,
                                                "One call cannot take so many snapshots.");
        json_write_key(writer, key);
        json_write_array(writer);
        for (size_t i = 0; i < json_object_array_length(array) && r == 0; i++)
                r = pass_subject(request, writer, key, json_object_array_get_idx(array, i));
        json_write_end(writer);
        return r;
}

int reference_pass_all(Request *request, JsonWriter *writer, const char *key, json_object *array) {
        size_t n = json_object_array_length(array);
        int r = 0;

        if (request->n_fds + n > LIMIT_SNAPSHOTS_PER_CALL)
                return request_refuse_parameter(request, key,
                                                "One call cannot take so many snapshots.");
        json_write_key(writer, key);
        json_write_array(writer);
        for (size_t i = 0; i < n && r == 0; i++) {
                Reference reference = REFERENCE_NONE;

                r = reference_open(request, key, json_object_array_get_idx(array, i), &reference);
                if (r == 0)
                        r = reference_write(request, writer, &reference);
                reference_done(request, &reference);
        }
        json_write_end(writer);
        return r;
}
