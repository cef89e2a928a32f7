/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <string.h>

/* The job checks that the snapshots exist and who owns them, under the lock of the spool. */

typedef struct ChangeFields {
        json_object *names;
        const char *name, *new_name;
} ChangeFields;

/*
 * Relative references are resolved here, all of a call against one view; the job gets names, and
 * finds out whether they are there.
 */
static int resolve(Request *request, const char *reference, OrderName *ret) {
        uint64_t back;
        int r;

        if (snapshot_name_is_relative(span_of(reference), &back)) {
                r = request_find_name(request, reference, &reference);
                if (r != 0)
                        return r;
        }
        if (strlen(reference) > SNAPSHOT_NAME_MAX_CHARS)
                return request_fail_spool(request, reference, SPOOL_E_NOT_FOUND);
        memcpy(ret->text, reference, strlen(reference) + 1);
        return 0;
}

int method_remove(Request *request) {
        static const Stage stage = {};
        static const Parameter table[] = {
                { "names", PARAMETER_TEXTS, true, offsetof(ChangeFields, names) },
        };
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_REMOVE);
        ChangeFields fields = { .names = NULL };
        int r;

        if (!order)
                return -ENOMEM;
        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        for (size_t i = 0; r == 0 && i < json_object_array_length(fields.names); i++)
                r = resolve(request,
                            json_object_get_string(json_object_array_get_idx(fields.names, i)),
                            &order->spool.names[order->spool.n_names++]);
        if (r != 0)
                return r;
        order->spool.uid = request->uid;
        r = request_add_spool(request, &order->spool.spool);
        return r == 0 ? request_submit(request, order, QUEUE_CHANGING, &stage) : r;
}

typedef struct Renaming {
        OrderName name, new_name;
} Renaming;

/*
 * The job writes a copy, whose space is reserved from when its turn has come until it ends. When
 * there is no such file, the job says so.
 */
static int prepare_rename(Request *request) {
        const Manager *manager = request->manager;
        const Renaming *renaming = request->state;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_RENAME);
        struct stat st;
        int r;

        if (!order)
                return -ENOMEM;
        order->spool.name = renaming->name;
        order->spool.new_name = renaming->new_name;
        order->spool.uid = request->uid;
        r = request_add_spool(request, &order->spool.spool);
        if (r != 0)
                return r;
        if (spool_stat(manager->spool, renaming->name.text, &st) == 0)
                request->reserved_bytes = (uint64_t) st.st_size;
        return request_set_order(request, order);
}

int method_rename(Request *request) {
        static const Stage stage = { .prepare = prepare_rename };
        static const Parameter table[] = {
                { "name", PARAMETER_TEXT, true, offsetof(ChangeFields, name) },
                { "newName", PARAMETER_TEXT, true, offsetof(ChangeFields, new_name) },
        };
        Renaming *renaming = request_keep(request, sizeof(*renaming), NULL);
        ChangeFields fields = { .name = NULL };
        const char *complaint;
        int r;

        if (!renaming)
                return -ENOMEM;
        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r == 0)
                r = resolve(request, fields.name, &renaming->name);
        if (r != 0)
                return r;
        complaint = snapshot_name_new_complaint(span_of(fields.new_name));
        if (complaint)
                return request_fail(request, WIRE_ERROR_INVALID_NAME,
                                    &(WireErrorDetail){
                                            .subject = span_of(fields.new_name),
                                            .reason = complaint,
                                    });
        memcpy(renaming->new_name.text, fields.new_name, strlen(fields.new_name) + 1);
        return request_submit(request, NULL, QUEUE_CHANGING, &stage);
}
