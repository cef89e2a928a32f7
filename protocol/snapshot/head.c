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

typedef struct HeadMember {
        const char *key;
        MemberKind kind;
        HeadPart part; /* of the document; HEAD_ALL: in the HEAD object only */
        size_t offset;
        size_t size;
        size_t has_offset;        /* of the flag that says it is known, or ALWAYS */
        const char *document_key; /* NULL: the same */
} HeadMember;

#define FILE_KIND_RECORDING "recording"
#define SMAPS_REQUESTED "smapsRequested"
#define ALWAYS SIZE_MAX
#define IF(flag) offsetof(Head, flag)
#define SIZE_OF(member) sizeof(((Head *) 0)->member)
#define MEMBER_AS(key, document_key, kind, part, member, has)                                  \
        {                                                                                      \
                key, MEMBER_##kind, HEAD_##part, offsetof(Head, member), SIZE_OF(member), has, \
                        document_key                                                           \
        }
#define MEMBER(key, kind, part, member, has) MEMBER_AS(key, NULL, kind, part, member, has)

// clang-format off
static const HeadMember members[] = {
        MEMBER("name",             TEXT, ALL,   name,              ALWAYS),
        MEMBER("beginBytes",       U64,  ALL,   begin_bytes,       IF(has_parts)),
        MEMBER("endBytes",         U64,  ALL,   end_bytes,         IF(has_parts)),
        MEMBER("tagged",           BOOL, ALL,   tagged,            ALWAYS),
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
        MEMBER("sizeBytes",        U64,  ALL,   size_bytes,        IF(has_size)),
        MEMBER("allocatedBytes",   U64,  ALL,   allocated_bytes,   IF(has_allocated)),
        MEMBER("publishedRealtimeNs", U64, ALL,  published_realtime_ns, IF(has_published)),
        MEMBER("uid",              U32,  ALL,   uid,               IF(has_uid)),
        MEMBER("backend",          TEXT, END,   backend,           ALWAYS),
        MEMBER("complete",         BOOL, END,   complete,          IF(has_complete)),
        MEMBER_AS("userHz",   "user_hz",   U32, START, user_hz,    IF(has_user_hz)),
        MEMBER_AS("pageSize", "page_size", U32, START, page_size,  IF(has_page_size)),
        MEMBER("documentBytes",    U64,  ALL,   document_bytes,    IF(has_document_bytes)),
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

#define COST_MEMBERS 3
static const struct {
        const char *key;
        size_t offset;
} cost_members[COST_MEMBERS] = {
        { "wallNs", offsetof(Head, cost_wall_ns) },
        { "cpuNs", offsetof(Head, cost_cpu_ns) },
        { "peakRssBytes", offsetof(Head, cost_peak_rss_bytes) },
};

void head_write_members(JsonWriter *writer, const Head *head, HeadPart part) {
        const char *base = (const char *) head;

        for (const HeadMember *member = members; member < members + ELEMENTSOF(members); member++) {
                const char *key = part != HEAD_ALL && member->document_key ? member->document_key
                                                                           : member->key;
                bool is_text = member->kind == MEMBER_TEXT || member->kind == MEMBER_ID;
                const void *value = base + member->offset;

                if ((part != HEAD_ALL && member->part != part) ||
                    (is_text && *(const char *) value == '\0') ||
                    (!is_text && member->has_offset != ALWAYS &&
                     !*(const bool *) (const void *) (base + member->has_offset)))
                        continue;
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
        if (part != HEAD_END && head->has_smaps_requested) /* the prior tool had no such option */
                json_write_member_bool(writer, SMAPS_REQUESTED, head->smaps_requested);
        /* The prior tool's readers refuse a document without it. */
        if (part == HEAD_START)
                json_write_member_u64(writer, "captured_at_unix_ns",
                                      head->has_start_realtime ? head->start_realtime_ns : 0);
        if (part == HEAD_START || !head->has_cost)
                return;
        json_write_key(writer, "cost");
        json_write_object(writer);
        for (size_t i = 0; i < COST_MEMBERS; i++)
                json_write_member_u64(
                        writer, cost_members[i].key,
                        *(const uint64_t *) (const void *) (base + cost_members[i].offset));
        json_write_end(writer);
}

void head_write_json(JsonWriter *writer, const Head *head) {
        json_write_object(writer);
        if (head->is_recording)
                json_write_member_text(writer, "fileKind", FILE_KIND_RECORDING);
        head_write_members(writer, head, HEAD_ALL);
        if (head->imported_from) {
                json_write_key(writer, "importedFrom");
                json_write_raw(writer, span_of(head->imported_from));
        }
        json_write_end(writer);
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
static int scan_cost(JsonScanner *scanner, Head *head) {
        unsigned seen = 0;
        Span key;
        int r;

        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                size_t i = 0;

                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        break;
                while (i < COST_MEMBERS && !span_is(key, cost_members[i].key))
                        i++;
                seen |= 1u << i;
                r = i == COST_MEMBERS
                            ? json_scanner_skip(scanner)
                            : json_scanner_u64(scanner,
                                               (uint64_t *) (void *) ((char *) head +
                                                                      cost_members[i].offset));
        }
        seen &= (1u << COST_MEMBERS) - 1;
        head->has_cost = r == 0 && seen == (1u << COST_MEMBERS) - 1;
        return r;
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

int head_scan_json(JsonScanner *scanner, Head *ret) {
        _cleanup_(head_done) Head head = {};
        bool has_version = false;
        Span key;
        int r;

        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                size_t i = 0;

                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        break;
                while (i < ELEMENTSOF(members) && !span_is(key, members[i].key))
                        i++;
                if (i < ELEMENTSOF(members)) {
                        has_version |= members[i].offset == offsetof(Head, format_version);
                        r = scan_member(scanner, &members[i], &head);
                } else if (span_is(key, SMAPS_REQUESTED)) {
                        head.has_smaps_requested = true;
                        r = json_scanner_bool(scanner, &head.smaps_requested);
                } else if (span_is(key, "fileKind")) {
                        r = json_scanner_text(scanner, &key);
                        head.is_recording = r == 0 && span_is(key, FILE_KIND_RECORDING);
                } else if (span_is(key, "cost"))
                        r = scan_cost(scanner, &head);
                else if (span_is(key, "importedFrom"))
                        r = scan_imported_from(scanner, &head);
                else
                        r = json_scanner_skip(scanner);
        }
        if (r != 0)
                return r;
        if (!has_version)
                return json_scanner_fail(scanner, "the head has no formatVersion");
        if (head.is_recording && !head.has_parts)
                return json_scanner_fail(scanner,
                                         "the head does not tell the parts of a recording");

        *ret = TAKE(head, (Head){});
        return 0;
}

int head_check_member(JsonScanner *scanner, Span key, HeadPart part, const char **ret_key) {
        if (part == HEAD_START && span_is(key, SMAPS_REQUESTED)) {
                *ret_key = SMAPS_REQUESTED;
                return json_scanner_bool(scanner, &(bool){ false });
        }
        for (const HeadMember *member = members; member < members + ELEMENTSOF(members); member++) {
                const char *name = member->document_key ? member->document_key : member->key;

                if (member->part != part || !span_is(key, name))
                        continue;
                *ret_key = name;
                switch (member->kind) {
                case MEMBER_TEXT:
                case MEMBER_ID:
                        return json_scanner_expect(scanner, JSON_TOKEN_STRING);
                case MEMBER_BOOL:
                        return json_scanner_bool(scanner, &(bool){ false });
                case MEMBER_U32:
                case MEMBER_U64:
                        return json_scanner_u64(scanner, &(uint64_t){ 0 });
                }
        }
        return json_scanner_skip(scanner);
}
