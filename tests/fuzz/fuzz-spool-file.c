/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A file of the spool. The first byte says which: the rest as it stands; or a document in zstd
 * frames that are made here, with a true head and digest, or one that lies about the length, and
 * then one byte of the file changed. Never is more handed out than the head declares, whatever a
 * frame would expand to; how much is asked for makes no difference; a true file is what was put in,
 * also under a new head; and no changed byte goes unnoticed.
 *
 * Aims at: daemon/spool/snapshot-file.c, daemon/spool/file-trailer.c
 */

#include <stdio.h>

#include "base/buffer.h"
#include "fuzz.h"
#include "made-file.h"
#include "plain.h"
#include "spool/snapshot-file.h"
#include "wire/limits.h"

#define MADE 1u    /* else the bytes are the file */
#define LIES 2u    /* about the length of the document */
#define BOMB 4u    /* a block at the end that expands a hundred times */
#define NO_HEAD 8u /* a file without the last part */

#define BOMB_BYTES 3000u

/* reading */

static void check_fault(const SnapshotFault *fault, size_t n_file) {
        expect_complaint(fault->text);
        fuzz_expect(!fault->has_offset || fault->in_document || fault->offset <= n_file,
                    "a fault lies within the file");
}

/* Appends all that is handed out, up to @n_piece a time. */
static int read_document(int fd, size_t n_piece, size_t n_file, Buffer *document) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *reader = NULL;
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        uint64_t declared;
        size_t n;
        int r;

        r = snapshot_file_reader_new(fd, SNAPSHOT_PART_WHOLE, &reader, &head, &fault);
        if (r != SNAPSHOT_FILE_OK && r != SNAPSHOT_FILE_E_NO_HEAD) {
                fuzz_expect(r == SNAPSHOT_FILE_E_DAMAGED, "a file is refused as damaged");
                check_fault(&fault, n_file);
                return r;
        }
        declared = r == SNAPSHOT_FILE_OK ? head.document_bytes : LIMIT_DOCUMENT_0_BYTES;
        do {
                char *room = NULL;

                fuzz_expect(buffer_reserve(document, n_piece, &room) == 0, "memory");
                r = snapshot_file_refill(reader, room, n_piece, &n);
                if (r != 0)
                        break;
                fuzz_expect(n <= n_piece, "no more is handed out than asked for");
                document->n += n;
                fuzz_expect(document->n <= declared, "no more is handed out than declared");
        } while (n > 0);
        if (r == 0) {
                fuzz_expect(document->n == declared || !head.has_document_bytes,
                            "nor less at a good end");
                return 0;
        }
        fuzz_expect(r == -EBADMSG, "a body is refused as a bad message");
        check_fault(snapshot_file_reader_fault(reader), n_file);
        fuzz_expect(snapshot_file_refill(reader, (char[1]){ 0 }, 1, &n) == -EBADMSG,
                    "and stays refused");
        return r;
}

static int check_readings(int fd, size_t n_file, Buffer *document) {
        Buffer pieces;
        int r = read_document(fd, 64 * 1024, n_file, document);

        buffer_init(&pieces, 0);
        fuzz_expect(read_document(fd, 7, n_file, &pieces) == r, "pieces change no outcome");
        /* How much was handed out before the bad end depends on what was asked for. */
        fuzz_expect(r != 0 || span_equal(buffer_span(document), buffer_span(&pieces)),
                    "pieces change no byte");
        buffer_done(&pieces);
        return r;
}

static int verify(int fd, size_t n_file) {
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        int r = snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &head, &fault);

        if (r != 0) {
                fuzz_expect(r == SNAPSHOT_FILE_E_DAMAGED, "a file is refused as damaged");
                check_fault(&fault, n_file);
        }
        return r;
}

static int check_digest(int fd, size_t n_file) {
        SnapshotFault fault = {};
        int r = snapshot_file_check_digest(fd, &fault);

        fuzz_expect(r == 0 || r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED,
                    "a digest is right, missing or wrong");
        if (r == SNAPSHOT_FILE_E_DAMAGED)
                check_fault(&fault, n_file);
        return r;
}

/* The same body under another head is a snapshot as good as before. */
static void check_rehead(int fd, const Buffer *file) {
        _cleanup_(fd_closep) int to = made_file_new();
        _cleanup_(head_done) Head head = { .name = "other" }, read_head = {};
        SnapshotFault fault = {};
        uint64_t n_bytes = 0;
        Buffer copy;

        fuzz_expect(snapshot_file_rehead(fd, to, &head, &n_bytes, &fault) == 0,
                    "a true file can have a new head: %s", fault.text);
        made_file_get(to, &copy);
        fuzz_expect(copy.n == n_bytes, "its bytes are counted");
        fuzz_expect(check_digest(to, copy.n) == 0, "its digest is right");
        fuzz_expect(snapshot_file_read_head(to, &read_head, &fault) == 0 &&
                            strcmp(read_head.name, "other") == 0 && read_head.size_bytes == n_bytes,
                    "it has the new head");
        fuzz_expect(verify(to, copy.n) == verify(fd, file->n), "the body is as good as before");
        buffer_done(&copy);
}

static void check_changed(int fd, const Buffer *file, size_t at, char bits) {
        char changed = (char) (file->bytes[at] ^ bits);
        int r;

        fuzz_expect(pwrite(fd, &changed, 1, (off_t) at) == 1, "a byte can be changed");
        r = check_digest(fd, file->n);
        fuzz_expect(r != 0, "a changed byte is noticed: byte %zu", at);
        fuzz_expect(verify(fd, file->n) != 0, "a changed byte is damage: byte %zu", at);
}

/* files */

static void check_bytes(Span content) {
        _cleanup_(fd_closep) int fd = made_file_new();
        Buffer document;

        made_file_set(fd, content);
        buffer_init(&document, 0);
        if (check_readings(fd, content.n, &document) != 0)
                fuzz_expect(verify(fd, content.n) != 0, "what cannot be read is no good file");
        (void) check_digest(fd, content.n);
        (void) verify(fd, content.n);
        buffer_done(&document);
}

static void check_made(uint8_t how, uint16_t at, uint8_t bits, uint8_t lie, Span text) {
        _cleanup_(fd_closep) int fd = made_file_new();
        size_t n_first = text.n / 2, n_document = text.n + (how & BOMB ? BOMB_BYTES : 0);
        Head head = { .format_version = 1, .has_document_bytes = true };
        bool is_true = !(how & (LIES | NO_HEAD));
        Buffer file, document;

        buffer_init(&file, 0);
        made_put_frame(&file, (Span){ text.bytes, n_first }, 0);
        made_put_frame(&file, (Span){ text.bytes + n_first, text.n - n_first },
                       how & BOMB ? BOMB_BYTES : 0);
        head.document_bytes = how & LIES ? (uint64_t) lie * 16 : n_document;
        if (!(how & NO_HEAD))
                made_put_trailer(&file, &head);
        made_file_set(fd, buffer_span(&file));

        buffer_init(&document, 0);
        if (check_readings(fd, file.n, &document) == 0)
                fuzz_expect(document.n == n_document &&
                                    memcmp(document.bytes, text.bytes, text.n) == 0,
                            "the document is what was put in");
        else
                fuzz_expect(!is_true, "a true file can be read");
        if (is_true) {
                fuzz_expect(check_digest(fd, file.n) == 0, "the digest of a true file is right");
                check_rehead(fd, &file);
                if (bits != 0 && verify(fd, file.n) == 0)
                        check_changed(fd, &file, at % file.n, (char) bits);
        }
        (void) verify(fd, file.n);
        buffer_done(&file);
        buffer_done(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t how = fuzz_take_u8(&input), bits, lie;
        uint16_t at;
        Span text;

        if (!(how & MADE)) {
                check_bytes(fuzz_take_rest(&input));
                return 0;
        }
        at = fuzz_take_u16(&input);
        bits = fuzz_take_u8(&input);
        lie = fuzz_take_u8(&input);
        text = fuzz_take_rest(&input);
        if (text.n > 0 && text.n <= MADE_MAX_BLOCK_BYTES)
                check_made(how, at, bits, lie, text);
        return 0;
}
