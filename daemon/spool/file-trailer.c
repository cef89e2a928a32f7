/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/file-trailer.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/file.h"
#include "base/macro.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"
#include "job/sandbox/sandbox.h"
#include "wire/limits.h"

static const char magic[8] = { 'c', 't', 'p', 'r', 'o', 'f', 0, 1 };

/* Before the JSON: magic and size of the frame. Behind it: digest, length, magic. */
#define FRONT_BYTES 8
#define LENGTH_BYTES 4
#define BACK_BYTES (TRAILER_DIGEST_BYTES + LENGTH_BYTES + sizeof(magic))

_Static_assert(sizeof(XXH128_canonical_t) == TRAILER_DIGEST_BYTES, "XXH3-128 has 128 bits");
_Static_assert(LIMIT_JSON_DEPTH <= JSON_WRITER_MAX_DEPTH, "a head that was read can be written");

static const JsonLimits head_limits = {
        .max_depth = LIMIT_JSON_DEPTH,
        .max_token_bytes = HEAD_MAX_BYTES,
        .max_text_bytes = HEAD_MAX_BYTES,
};

int hash_new(Hash *ret) {
        _cleanup_(hash_freep) Hash hash = XXH3_createState();

        if (!hash || XXH3_128bits_reset(hash) != XXH_OK)
                return -ENOMEM;
        *ret = TAKE_PTR(hash);
        return 0;
}

int read_exactly(int fd, void *bytes, size_t n, uint64_t offset, SnapshotFault *ret_fault) {
        size_t n_read;
        int r;

        r = file_read_at(fd, bytes, n, offset, &n_read);
        if (r != 0)
                return r;
        if (n_read == n)
                return 0;
        fault_set(ret_fault, offset + n_read, "the file became shorter while it was read");
        return SNAPSHOT_FILE_E_DAMAGED;
}

int trailer_find(int fd, FileRange range, FileTrailer *ret, SnapshotFault *ret_fault) {
        uint32_t front[FRONT_BYTES / sizeof(uint32_t)], n_json;
        uint64_t file_bytes, start;
        char back[BACK_BYTES];
        struct stat st;
        int r;

        r = sandbox_fstat(fd, &st);
        if (r < 0)
                return r;
        if (!S_ISREG(st.st_mode)) {
                fault_set(ret_fault, FAULT_NOWHERE, "it is not a regular file");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (st.st_size == 0) {
                fault_set(ret_fault, FAULT_NOWHERE, "the file is empty");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        /* Its digest alone would take as long as its length says, also where it has no blocks. */
        file_bytes = (uint64_t) st.st_size;
        if (file_bytes > LIMIT_FILE_BYTES) {
                fault_set(ret_fault, FAULT_NOWHERE,
                          "it is %" PRIu64 " bytes long, and a snapshot has at most %llu",
                          file_bytes, LIMIT_FILE_BYTES);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (range.end == 0)
                range.end = file_bytes;
        if (range.end > file_bytes || range.begin >= range.end) {
                fault_set(ret_fault, FAULT_NOWHERE, "a part of the recording is not in the file");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        file_bytes = range.end - range.begin;
        *ret = (FileTrailer){ .begin = range.begin,
                              .file_bytes = file_bytes,
                              .body_end = range.end };
        if (file_bytes < BACK_BYTES)
                return SNAPSHOT_FILE_E_NO_HEAD;
        r = read_exactly(fd, back, sizeof(back), range.end - BACK_BYTES, ret_fault);
        if (r != 0)
                return r;
        if (memcmp(back + BACK_BYTES - sizeof(magic), magic, sizeof(magic)) != 0)
                return SNAPSHOT_FILE_E_NO_HEAD;

        memcpy(&n_json, back + TRAILER_DIGEST_BYTES, sizeof(n_json));
        n_json = le32toh(n_json);
        if (n_json == 0 || n_json > HEAD_MAX_BYTES ||
            file_bytes < FRONT_BYTES + n_json + BACK_BYTES) {
                fault_set(ret_fault, range.end - sizeof(magic) - LENGTH_BYTES,
                          "the head cannot be %" PRIu32 " bytes long", n_json);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        start = range.end - BACK_BYTES - n_json - FRONT_BYTES;
        r = read_exactly(fd, front, sizeof(front), start, ret_fault);
        if (r != 0)
                return r;
        if (le32toh(front[0]) != TRAILER_FRAME_MAGIC || le32toh(front[1]) != n_json + BACK_BYTES) {
                fault_set(ret_fault, start, "the frame of the head is damaged");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        ret->body_end = start;
        ret->json_offset = start + FRONT_BYTES;
        ret->n_json = n_json;
        ret->digest_offset = range.end - BACK_BYTES;
        return 0;
}

int trailer_read_head(int fd, const FileTrailer *trailer, Head *ret, SnapshotFault *ret_fault) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        char json[HEAD_MAX_BYTES];
        JsonToken token;
        Head head;
        int r;

        r = read_exactly(fd, json, trailer->n_json, trailer->json_offset, ret_fault);
        if (r != 0)
                return r;
        r = json_scanner_new_text((Span){ json, trailer->n_json }, &head_limits, &scanner);
        if (r < 0)
                return r;
        r = head_scan_json(scanner, &head);
        if (r == 0) {
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        head_done(&head);
        }
        if (r == JSON_E_MALFORMED) {
                fault_set(ret_fault, trailer->json_offset + scanner->offset,
                          "the head is damaged: %s", scanner->complaint);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (r != 0)
                return err_fold(r);
        head.has_size = true;
        head.size_bytes = trailer->file_bytes;
        /* The file itself is not believed about when it was published. */
        head.has_published = head.has_allocated = false;
        *ret = head;
        return 0;
}

int trailer_check_digest(int fd, const FileTrailer *trailer, Hash hash, SnapshotFault *ret_fault) {
        XXH128_canonical_t stored, computed;
        int r;

        r = read_exactly(fd, &stored, sizeof(stored), trailer->digest_offset, ret_fault);
        if (r != 0)
                return r;
        XXH128_canonicalFromHash(&computed, XXH3_128bits_digest(hash));
        if (memcmp(&stored, &computed, sizeof(stored)) == 0)
                return 0;
        /* Any byte before may be the wrong one, so there is no offset to tell. */
        fault_set(ret_fault, FAULT_NOWHERE, "the digest does not match");
        return SNAPSHOT_FILE_E_DAMAGED;
}

int trailer_append(int fd, Hash hash, Head *head, uint64_t *n_bytes) {
        _cleanup_(buffer_done) Buffer json = { .max_bytes = HEAD_MAX_BYTES };
        uint32_t front[FRONT_BYTES / sizeof(uint32_t)], n_json;
        char back[BACK_BYTES];
        XXH128_canonical_t digest;
        Head stored = *head;
        JsonWriter writer;
        int r;

        /* The file knows its own size. */
        stored.has_size = stored.has_published = stored.has_allocated = false;
        json_writer_init(&writer, &json);
        head_write_json(&writer, &stored);
        r = json_writer_finish(&writer);
        if (r < 0)
                return r;
        front[0] = htole32(TRAILER_FRAME_MAGIC);
        front[1] = htole32((uint32_t) (json.n + BACK_BYTES));
        (void) XXH3_128bits_update(hash, front, sizeof(front));
        (void) XXH3_128bits_update(hash, json.bytes, json.n);
        XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(hash));
        memcpy(back, &digest, sizeof(digest));
        n_json = htole32((uint32_t) json.n);
        memcpy(back + TRAILER_DIGEST_BYTES, &n_json, sizeof(n_json));
        memcpy(back + TRAILER_DIGEST_BYTES + LENGTH_BYTES, magic, sizeof(magic));
        r = file_write(fd, front, sizeof(front));
        if (r < 0)
                return r;
        r = file_write(fd, json.bytes, json.n);
        if (r < 0)
                return r;
        r = file_write(fd, back, sizeof(back));
        if (r < 0)
                return r;
        *n_bytes += FRONT_BYTES + json.n + BACK_BYTES;
        head->has_size = true;
        head->size_bytes = *n_bytes;
        return 0;
}
