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

static int scan_source(JsonScanner *scanner, Head *head, Buffer *document) {
        Span key;
        int r;

        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        return r;
                if (span_is(key, "head"))
                        r = head_scan_json(scanner, head);
                else if (span_is(key, "document"))
                        r = json_scanner_raw(scanner, document);
                else
                        r = json_scanner_fail(scanner, "neither head nor document");
        }
        return r;
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
        static char source[SOURCE_MAX_BYTES];
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        _cleanup_(buffer_done) Buffer document = {};
        Head head = {};
        size_t n;
        int r;

        if (argc != 3)
                fail("usage", "make-file SOURCE FILE");
        buffer_init(&document, 0);
        n = read_source(argv[1], source, sizeof(source));
        check(json_scanner_new_text((Span){ source, n }, &limits, &scanner), argv[1]);
        r = scan_source(scanner, &head, &document);
        if (r == JSON_E_MALFORMED)
                fail(argv[1], json_scanner_complaint(scanner));
        check(r, argv[1]);
        write_file(argv[2], &head, buffer_span(&document));
        head_done(&head);
        return EXIT_SUCCESS;
}
