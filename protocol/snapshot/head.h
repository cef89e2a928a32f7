/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Head
 *
 * Facts about a whole snapshot. They are the JSON object HEAD at the end of every file and in most
 * replies. A member that is not known is left out, never written as 0 or "".
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/name.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"

#define HEAD_FORMAT_VERSION 1 /* 0: a file without head, of the prior tool */
#define HEAD_MAX_BYTES (16 * 1024)
#define HEAD_TEXT_BYTES 256 /* host names, releases: longer text is refused */

typedef struct Head {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1]; /* "" when unknown (a bare file's is its path's) */
        bool tagged;
        uint32_t format_version;
        char tool_version[HEAD_TEXT_BYTES];
        char host_name[HEAD_TEXT_BYTES];
        char machine_id[33]; /* 32 hex digits, application-specific hash; "" unknown */
        char boot_id[33];
        char kernel_release[HEAD_TEXT_BYTES];
        char backend[32]; /* "procfs", "bpf" */

        /*
         * A recording: the file has the snapshots of both ends, each as a file of its own, and then
         * the document of what was recorded between. The numbers are the lengths of the first two.
         */
        bool is_recording, has_parts;
        uint64_t begin_bytes, end_bytes;

        bool has_start_realtime, has_end_realtime, has_start_boottime, has_end_boottime;
        uint64_t start_realtime_ns, end_realtime_ns; /* CLOCK_REALTIME */
        uint64_t start_boottime_ns, end_boottime_ns; /* CLOCK_BOOTTIME */

        /* Not stored in the file but set when it is read in the spool. */
        bool has_published, has_allocated;
        uint64_t published_realtime_ns; /* CLOCK_REALTIME: entered the spool; orders it */
        uint64_t allocated_bytes;       /* on the disk */

        bool has_threads, has_processes, has_uid, has_size, has_complete, has_cost;
        uint64_t threads;    /* rows of the document */
        uint64_t processes;  /* distinct tgids among them */
        uint64_t size_bytes; /* of the whole file; not stored in it, set when it is read */
        uid_t uid;           /* of the user who asked for it */
        bool complete;       /* source_table_is_complete() */
        uint64_t cost_wall_ns, cost_cpu_ns, cost_peak_rss_bytes;

        bool has_user_hz, has_page_size, has_document_bytes, has_taskstats_version;
        uint32_t user_hz;
        uint32_t page_size;
        uint64_t document_bytes; /* of the JSON document, uncompressed: decompression stops there */
        uint32_t taskstats_version;
        bool has_smaps_requested, smaps_requested;
        char smaps_mode[32]; /* a name of choice.h, or that of a later version */
        bool has_smaps_max_rss;
        uint64_t smaps_max_rss_bytes; /* the bounds of the mode "small" */
        bool has_smaps_max_processes;
        uint64_t smaps_max_processes;
        bool has_heap_requested, heap_requested;

        /*
         * The ledger of exits and the account of waits that were kept, each since its programs
         * were attached (CLOCK_BOOTTIME). Only what two snapshots of one ledger tell can be
         * subtracted.
         */
        char ledger_id[33]; /* 32 hex digits, random; "" there is none */
        bool has_ledger_since, has_waits_since, has_reasons_since;
        uint64_t ledger_since_boottime_ns, waits_since_boottime_ns, reasons_since_boottime_ns;
        char reasons_id[33]; /* likewise, of the epoch of the account of waits by reason */

        /*
         * Owned; JSON object with the origin's name, uid, hostName. NULL: the snapshot was captured
         * by the daemon whose spool it is in, not imported.
         */
        char *imported_from;
} Head;

void head_done(Head *head);

/* The HEAD object. */
void head_write_json(JsonWriter *writer, const Head *head);
/*
 * Reads it strictly: wrong types, texts too long, ids that are not 32 hex digits are malformed;
 * unknown members are skipped. 0, JSON_E_MALFORMED, or a negative errno; *ret only on 0.
 */
_must_check_ int head_scan_json(JsonScanner *scanner, Head *ret);

typedef enum HeadPart {
        HEAD_ALL,   /* as in the HEAD object */
        HEAD_START, /* as in a snapshot document: what is known before the first thread is read */
        HEAD_END,   /* and what is known only after the last */
} HeadPart;

/* Writes the facts of that part as members of an object that is open. */
void head_write_members(JsonWriter *writer, const Head *head, HeadPart part);
/*
 * Takes the value of a member of that part of a document, whose @key was read. Values come from the
 * HEAD object; here only their types are checked, and members that are none are skipped. *ret_key
 * is the key of one that is, else it stays as it was.
 */
_must_check_ int head_check_member(JsonScanner *scanner, Span key, HeadPart part,
                                   const char **ret_key);
