/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <stdlib.h>

/* A reply of this length stays below the bound after one more head. */
#define LIST_REPLY_BYTES (LIMIT_REPLY_BYTES / 4u)

typedef struct ListFields {
        OptionalU64 since_ns, until_ns; /* CLOCK_REALTIME, both included */
} ListFields;

/* The snapshots when the call came, and how many of them were sent. */
typedef struct Listing {
        ListFields fields;
        SpoolView *view; /* owned */
        size_t n_told;
} Listing;

static void listing_release(Request *request) {
        (void) spool_view_unref(((Listing *) request->state)->view);
}

/* A snapshot without a start time is listed only when no period was given. */
static bool is_listed(const Listing *listing, const IndexEntry *entry) {
        const OptionalU64 *since = &listing->fields.since_ns, *until = &listing->fields.until_ns;

        if (entry->damaged)
                return false;
        if (!since->is_set && !until->is_set)
                return true;
        return entry->has_start && (!since->is_set || entry->start_realtime_ns >= since->value) &&
               (!until->is_set || entry->start_realtime_ns <= until->value);
}

/*
 * Sends one reply. *ret_more: another one has to follow. The last one has the damaged snapshots,
 * which are last in the list, as far as they fit into one reply.
 */
static int tell(Request *request, Listing *listing, bool *ret_more) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        const SpoolView *view = listing->view;
        size_t end = listing->n_told;
        JsonWriter writer;
        int r;

        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshots");
        json_write_array(&writer);
        for (; end < view->n && text.n < LIST_REPLY_BYTES; end++) {
                const IndexEntry *entry = view->entries[end];

                if (is_listed(listing, entry))
                        json_write_raw(&writer, (Span){ entry->text, entry->n_text });
        }
        json_write_end(&writer);
        *ret_more = end < view->n;
        if (*ret_more && !request->more)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        json_write_key(&writer, "unreadable");
        json_write_array(&writer);
        for (size_t i = 0; i < view->n && !*ret_more; i++) {
                const IndexEntry *entry = view->entries[i];

                if (!entry->damaged || text.n >= 2 * LIST_REPLY_BYTES)
                        continue;
                json_write_object(&writer);
                json_write_member_text(&writer, "name", entry->name);
                json_write_member_bool(&writer, "ok", false);
                json_write_member_name(&writer, "error", (Span){ entry->text, entry->n_text });
                if (entry->has_offset)
                        json_write_member_u64(&writer, "offset", entry->offset);
                else
                        json_write_member_null(&writer, "offset");
                json_write_end(&writer);
        }
        json_write_end(&writer);
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        if (r < 0)
                return r;

        listing->n_told = end;
        if (!*ret_more)
                return request_answer(request, buffer_span(&text), NULL, 0);
        connection_continue(request->connection, buffer_span(&text));
        return 0;
}

/* Sends replies until the connection is full; on_drained continues. */
static int go_on(Request *request) {
        bool more = true;
        int r = 0;

        while (r == 0 && more && !connection_is_full(request->connection))
                r = tell(request, request->state, &more);
        return r;
}

int method_list(Request *request) {
        static const Parameter table[] = {
                { "sinceRealtimeNs", PARAMETER_OPTIONAL_U64, false,
                  offsetof(ListFields, since_ns) },
                { "untilRealtimeNs", PARAMETER_OPTIONAL_U64, false,
                  offsetof(ListFields, until_ns) },
        };
        Listing *listing = request_keep(request, sizeof(*listing), listing_release);
        int r;

        if (!listing)
                return -ENOMEM;
        request->on_drained = go_on;
        r = request_decode(request, table, ELEMENTSOF(table), &listing->fields);
        if (r != 0)
                return r;
        if (request->manager->spool->dir_fd < 0)
                return request_fail_spool(request, "", SPOOL_E_UNAVAILABLE);
        listing->view = request_view(request);
        listing->view->n_refs++;
        /* Snapshots that others remove meanwhile stay in memory for this caller. */
        r = request_hold(request, listing->view->memory);
        return r == 0 ? go_on(request) : r;
}
