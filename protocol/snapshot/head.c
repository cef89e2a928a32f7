/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/head.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/macro.h"

_Static_assert(sizeof(uid_t) == sizeof(uint32_t), "a uid is read and written as 32 bits");

typedef enum MemberKind {
        MEMBER_TEXT, /* an array of @size bytes; "" is unknown */
        MEMBER_ID,   /* 32 hex digits and a NUL; "" is unknown */
        MEMBER_BOOL,
        MEMBER_U32,
        MEMBER_U64,
} MemberKind;

/* The place of a member besides the HEAD object: none, or an end of the document. */
typedef enum MemberPlace {
        PLACE_HEAD,
        PLACE_START,
        PLACE_END,
} MemberPlace;

typedef struct HeadMember {
        const char *key;
        MemberKind kind;
        MemberPlace place;
        size_t offset;
        size_t size;
        size_t has_offset;        /* of the flag that says it is known, or ALWAYS */
        const char *document_key; /* NULL: the same */
} HeadMember;

#define ALWAYS SIZE_MAX
#define IF(flag) offsetof(Head, flag)
#define SIZE_OF(member) sizeof(((Head *) 0)->member)
#define MEMBER_AS(key, document_key, kind, place, member, has)                                   \
        {                                                                                        \
                key, MEMBER_##kind, PLACE_##place, offsetof(Head, member), SIZE_OF(member), has, \
                        document_key                                                             \
        }
#define MEMBER(key, kind, place, member, has) MEMBER_AS(key, NULL, kind, place, member, has)

// clang-format off
static const HeadMember members[] = {
        MEMBER("name",             TEXT, HEAD,  name,              ALWAYS),
        MEMBER("tagged",           BOOL, HEAD,  tagged,            ALWAYS),
        MEMBER("formatVersion",    U32,  START, format_version,    ALWAYS),
        MEMBER("toolVersion",      TEXT, START, tool_version,      ALWAYS),
        MEMBER("hostName",         TEXT, START, host_name,         ALWAYS),
        MEMBER("machineId",        ID,   START, machine_id,        ALWAYS),
        MEMBER("bootId",           ID,   START, boot_id,           ALWAYS),
        MEMBER("startRealtimeNs",  U64,  START, start_realtime_ns, IF(has_start_realtime)),
        MEMBER("endRealtimeNs",    U64,  END,   end_realtime_ns,   IF(has_end_realtime)),
        MEMBER("startBoottimeNs",  U64,  START, start_boottime_ns, IF(has_start_boottime)),
        MEMBER("endBoottimeNs",    U64,  END,   end_boottime_ns,   IF(has_end_boottime)),
        MEMBER("kernelRelease",    TEXT, START, kernel_release,    ALWAYS),
        MEMBER("threads",          U64,  END,   threads,           IF(has_threads)),
        MEMBER("processes",        U64,  END,   processes,         IF(has_processes)),
        MEMBER("sizeBytes",        U64,  HEAD,  size_bytes,        IF(has_size)),
        MEMBER("allocatedBytes",   U64,  HEAD,  allocated_bytes,   IF(has_allocated)),
        MEMBER("publishedRealtimeNs", U64, HEAD, published_realtime_ns, IF(has_published)),
        MEMBER("uid",              U32,  HEAD,  uid,               IF(has_uid)),
        MEMBER("backend",          TEXT, END,   backend,           ALWAYS),
        MEMBER("complete",         BOOL, END,   complete,          IF(has_complete)),
        MEMBER_AS("userHz",   "user_hz",   U32, START, user_hz,    IF(has_user_hz)),
        MEMBER_AS("pageSize", "page_size", U32, START, page_size,  IF(has_page_size)),
        MEMBER("documentBytes",    U64,  HEAD,  document_bytes,    IF(has_document_bytes)),
        MEMBER("taskstatsVersion", U32,  END,   taskstats_version, IF(has_taskstats_version)),
        MEMBER("smapsMode",        TEXT, START, smaps_mode,        ALWAYS),
        MEMBER("smapsMaxRssBytes", U64,  START, smaps_max_rss_bytes, IF(has_smaps_max_rss)),
        MEMBER("smapsMaxProcesses", U64, START, smaps_max_processes, IF(has_smaps_max_processes)),
        MEMBER("heapRequested",    BOOL, START, heap_requested,    IF(has_heap_requested)),
        MEMBER("ledgerId",         ID,   END,   ledger_id,         ALWAYS),
        MEMBER("ledgerSinceBoottimeNs", U64, END, ledger_since_boottime_ns, IF(has_ledger_since)),
        MEMBER("waitsSinceBoottimeNs", U64, END, waits_since_boottime_ns, IF(has_waits_since)),
        MEMBER("reasonsId",        ID,   END,   reasons_id,        ALWAYS),
        MEMBER("reasonsSinceBoottimeNs", U64, END, reasons_since_boottime_ns,
               IF(has_reasons_since)),
};
// clang-format on

void head_done(Head *head) {
        free(head->imported_from);
        head->imported_from = NULL;
}

static void write_member(JsonWriter *writer, const Head *head, const HeadMember *member,
                         const char *key) {
        const void *value = (const char *) head + member->offset;

        if (member->kind == MEMBER_TEXT || member->kind == MEMBER_ID
                    ? *(const char *) value == '\0'
                    : member->has_offset != ALWAYS &&
                              !*(const bool *) (const void *) ((const char *) head +
                                                               member->has_offset))
                return;
        switch (member->kind) {
        case MEMBER_TEXT:
        case MEMBER_ID:
                /* Host names and releases come from the kernel and may have any bytes. */
                json_write_member_name(writer, key, span_of(value));
                break;
        case MEMBER_BOOL:
                json_write_member_bool(writer, key, *(const bool *) value);
                break;
        case MEMBER_U32:
                json_write_member_u64(writer, key, *(const uint32_t *) value);
                break;
        case MEMBER_U64:
                json_write_member_u64(writer, key, *(const uint64_t *) value);
                break;
        }
}

static void write_cost(JsonWriter *writer, const Head *head) {
        if (!head->has_cost)
                return;
        json_write_key(writer, "cost");
        json_write_object(writer);
        json_write_member_u64(writer, "wallNs", head->cost_wall_ns);
        json_write_member_u64(writer, "cpuNs", head->cost_cpu_ns);
        json_write_member_u64(writer, "peakRssBytes", head->cost_peak_rss_bytes);
        json_write_end(writer);
}

void head_write_json(JsonWriter *writer, const Head *head) {
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                write_member(writer, head, &members[i], members[i].key);
        if (head->has_smaps_requested) /* the prior tool had no such option */
                json_write_member_bool(writer, "smapsRequested", head->smaps_requested);
        write_cost(writer, head);
        if (head->imported_from) {
                json_write_key(writer, "importedFrom");
                json_write_raw(writer, span_of(head->imported_from));
        }
        json_write_end(writer);
}

void head_write_members(JsonWriter *writer, const Head *head, bool of_end) {
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (members[i].place == (of_end ? PLACE_END : PLACE_START))
                        write_member(writer, head, &members[i],
                                     members[i].document_key ? members[i].document_key
                                                             : members[i].key);
        if (of_end) {
                write_cost(writer, head);
                return;
        }
        if (head->has_smaps_requested) /* the prior tool had no such option */
                json_write_member_bool(writer, "smapsRequested", head->smaps_requested);
        /* The prior tool's readers refuse a document without it. */
        json_write_member_u64(writer, "captured_at_unix_ns",
                              head->has_start_realtime ? head->start_realtime_ns : 0);
}

/* reading */

static int scan_member(JsonScanner *scanner, const HeadMember *member, Head *head) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = member->size - 1 };
        void *value = (char *) head + member->offset;
        uint64_t number = 0;
        Span span;
        int r = -EINVAL;

        switch (member->kind) {
        case MEMBER_TEXT:
                r = json_scanner_text(scanner, &span);
                if (r != 0)
                        return r;
                r = name_unescape(&text, span);
                if (r == -EMSGSIZE)
                        return json_scanner_fail(scanner, "the text is too long");
                if (r != 0)
                        return r;
                memcpy(value, text.bytes ? text.bytes : "", text.n);
                ((char *) value)[text.n] = '\0';
                break;
        case MEMBER_ID:
                r = json_scanner_text(scanner, &span);
                if (r != 0)
                        return r;
                for (size_t i = 0; i < span.n; i++)
                        if (!isxdigit((unsigned char) span.bytes[i]))
                                span.n = 0;
                if (span.n != member->size - 1)
                        return json_scanner_fail(scanner, "an id of 32 hex digits is expected");
                memcpy(value, span.bytes, span.n);
                ((char *) value)[span.n] = '\0';
                break;
        case MEMBER_BOOL:
                r = json_scanner_bool(scanner, value);
                break;
        case MEMBER_U32:
                r = json_scanner_u64(scanner, &number);
                if (r == 0 && number > UINT32_MAX)
                        return json_scanner_fail(scanner, "the number is above 4294967295");
                if (r == 0)
                        *(uint32_t *) value = (uint32_t) number;
                break;
        case MEMBER_U64:
                r = json_scanner_u64(scanner, value);
                break;
        }
        if (r == 0 && member->has_offset != ALWAYS)
                *(bool *) (void *) ((char *) head + member->has_offset) = true;
        return r;
}

/* The cost is known if all its members are there. */
typedef struct CostScan {
        Head *head;
        bool has_wall, has_cpu, has_rss;
} CostScan;

static int on_cost_member(void *userdata, JsonScanner *scanner, Span key) {
        CostScan *cost = userdata;

        if (span_is(key, "wallNs")) {
                cost->has_wall = true;
                return json_scanner_u64(scanner, &cost->head->cost_wall_ns);
        }
        if (span_is(key, "cpuNs")) {
                cost->has_cpu = true;
                return json_scanner_u64(scanner, &cost->head->cost_cpu_ns);
        }
        if (span_is(key, "peakRssBytes")) {
                cost->has_rss = true;
                return json_scanner_u64(scanner, &cost->head->cost_peak_rss_bytes);
        }
        return json_scanner_skip(scanner);
}

static int scan_imported_from(JsonScanner *scanner, Head *head) {
        _cleanup_(buffer_done) Buffer buffer = { .max_bytes = HEAD_MAX_BYTES };
        int r;

        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        if (r != 0)
                return r;
        r = json_scanner_raw(scanner, &buffer);
        if (r == 0)
                r = buffer_take_text(&buffer, &head->imported_from);
        return r == -EMSGSIZE ? json_scanner_fail(scanner, "the origin is too long") : r;
}

typedef struct HeadScan {
        Head *head;
        bool has_version;
} HeadScan;

static int on_head_member(void *userdata, JsonScanner *scanner, Span key) {
        HeadScan *scan = userdata;
        Head *head = scan->head;

        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (span_is(key, members[i].key)) {
                        if (members[i].offset == offsetof(Head, format_version))
                                scan->has_version = true;
                        return scan_member(scanner, &members[i], head);
                }
        if (span_is(key, "smapsRequested")) {
                head->has_smaps_requested = true;
                return json_scanner_bool(scanner, &head->smaps_requested);
        }
        if (span_is(key, "cost")) {
                CostScan cost = { .head = head };
                int r = json_scanner_object(scanner, on_cost_member, &cost);

                head->has_cost = r == 0 && cost.has_wall && cost.has_cpu && cost.has_rss;
                return r;
        }
        if (span_is(key, "importedFrom"))
                return scan_imported_from(scanner, head);
        return json_scanner_skip(scanner);
}

int head_scan_json(JsonScanner *scanner, Head *ret) {
        _cleanup_(head_done) Head head = {};
        HeadScan scan = { .head = &head };
        int r;

        r = json_scanner_object(scanner, on_head_member, &scan);
        if (r != 0)
                return r;
        if (!scan.has_version)
                return json_scanner_fail(scanner, "the head has no formatVersion");

        *ret = head;
        head.imported_from = NULL;
        return 0;
}
