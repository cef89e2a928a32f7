/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Make-file
 *
 * Compiles the source of a snapshot, {"head": HEAD, "document": DOCUMENT} as snapshot(5) has them,
 * into a snapshot file. What the document says is not checked: that is for the readers.
 *
 *     make-file SOURCE FILE
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json-scanner.h"
#include "snapshot/head.h"
#include "spool/snapshot-file.h"

#define SOURCE_MAX_BYTES (1u << 20)

static const JsonLimits limits = { .max_depth = 16, .max_token_bytes = 65536 };

static _noreturn_ void fail(const char *path, const char *why) {
        (void) fprintf(stderr, "make-file: %s: %s\n", path, why);
        exit(EXIT_FAILURE);
}

static void check(int r, const char *path) {
        if (r != 0)
                fail(path, r < 0 ? strerror(-r) : "refused");
}

static size_t read_source(const char *path, char *space, size_t n_space) {
        FILE *file = fopen(path, "re");
        size_t n;

        if (!file)
                fail(path, "cannot be opened");
        n = fread(space, 1, n_space, file);
        if (ferror(file) || !feof(file))
                fail(path, "cannot be read, or is too large");
        (void) fclose(file);
        return n;
}

typedef struct Source {
        Head head;
        Buffer document;
} Source;

static int on_member(void *userdata, JsonScanner *scanner, Span key) {
        Source *source = userdata;

        if (span_is(key, "head"))
                return head_scan_json(scanner, &source->head);
        if (span_is(key, "document"))
                return json_scanner_raw(scanner, &source->document);
        return json_scanner_fail(scanner, "neither head nor document");
}

static void write_file(const char *path, Head *head, Span document) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        uint64_t n_bytes;

        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
                fail(path, strerror(errno));
        check(snapshot_file_writer_new(fd, &writer), path);
        check(snapshot_file_writer_write(writer, document.bytes, document.n), path);
        check(snapshot_file_writer_finish(writer, head, &n_bytes), path);
}

int main(int argc, char **argv) {
        static char text[SOURCE_MAX_BYTES];
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        Source source = {};
        size_t n;
        int r;

        if (argc != 3)
                fail("usage", "make-file SOURCE FILE");
        n = read_source(argv[1], text, sizeof(text));
        check(json_scanner_new_text((Span){ text, n }, &limits, &scanner), argv[1]);
        r = json_scanner_object(scanner, on_member, &source);
        if (r == JSON_E_MALFORMED)
                fail(argv[1], scanner->complaint);
        check(r, argv[1]);
        write_file(argv[2], &source.head, buffer_span(&source.document));
        buffer_done(&source.document);
        head_done(&source.head);
        return EXIT_SUCCESS;
}
