/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <endian.h>
#include <inttypes.h>
#include <stdint.h>

#include "files.h"
#include "spool/file-trailer.h"
#include "wire/limits.h"

static TestDir dir;
static int fd;

static void set_up(void) {
        dir = test_dir_new();
        fd = test_dir_file(&dir, "file");
}

static void tear_down(void) {
        (void) close(fd);
        test_dir_free(&dir);
}

static void check_verify(int expected) {
        SnapshotFault fault = {};
        Head head;
        int r = snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &head, &fault);

        ck_assert_msg(r == expected, "%d: %s", r, fault.text);
        if (r == 0)
                head_done(&head);
        else
                ck_assert_str_ne(fault.text, "");
}

static void check_fault(const char *part) {
        SnapshotFault fault = {};
        Head head;

        ck_assert_int_eq(snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &head, &fault),
                         SNAPSHOT_FILE_E_DAMAGED);
        ck_assert_msg(strstr(fault.text, part) != NULL, "\"%s\" says nothing of \"%s\"", fault.text,
                      part);
}

/* Opens and reads to the end. *ret_document is the text so far, also after a failure. */
static int read_part(SnapshotPart part, Buffer *ret_document, char *ret_fault, size_t n_space) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *reader = NULL;
        SnapshotFault fault = {};
        char space[4096];
        size_t n = 1;
        Head head;
        int r;

        buffer_init(ret_document, 0);
        ret_fault[0] = '\0';
        r = snapshot_file_reader_new(fd, part, &reader, &head, &fault);
        if (r != SNAPSHOT_FILE_OK && r != SNAPSHOT_FILE_E_NO_HEAD) {
                (void) strcpy(ret_fault, fault.text);
                return r;
        }
        head_done(&head);
        do {
                r = snapshot_file_refill(reader, space, n_space, &n);
                if (r == 0)
                        ck_assert_int_eq(buffer_append(ret_document, space, n), 0);
        } while (r == 0 && n > 0);
        (void) strcpy(ret_fault, snapshot_file_reader_fault(reader)->text);
        return r;
}

static int read_document(Buffer *ret_document, char *ret_fault, size_t n_space) {
        return read_part(SNAPSHOT_PART_WHOLE, ret_document, ret_fault, n_space);
}

START_TEST(a_file_is_read_as_it_was_written) {
        Head written = test_head("before", 17, 1000), read;
        Buffer document, again;
        uint64_t n_bytes;
        char fault[256];

        written.imported_from = strdup("{\"name\":\"x\"}");
        n_bytes = write_snapshot(fd, &written);
        ck_assert_uint_eq(n_bytes, (uint64_t) lseek(fd, 0, SEEK_END));
        ck_assert_uint_eq(written.size_bytes, n_bytes);
        check_verify(0);

        ck_assert_int_eq(snapshot_file_read_head(fd, &read, NULL), 0);
        ck_assert_str_eq(read.name, "before");
        ck_assert_uint_eq(read.uid, 1000);
        ck_assert_uint_eq(read.start_realtime_ns, 17);
        ck_assert_uint_eq(read.format_version, HEAD_FORMAT_VERSION);
        ck_assert(read.has_size && read.size_bytes == n_bytes);
        ck_assert(read.has_document_bytes && read.document_bytes == written.document_bytes);
        ck_assert_str_eq(read.imported_from, "{\"name\":\"x\"}");

        ck_assert_int_eq(read_document(&document, fault, 4096), 0);
        ck_assert_uint_eq(document.n, written.document_bytes);
        ck_assert_int_eq(document.bytes[document.n - 1], '}');
        ck_assert_int_eq(read_document(&again, fault, 1), 0);
        ck_assert(span_equal(buffer_span(&document), buffer_span(&again)));
        buffer_done(&document);
        buffer_done(&again);
        head_done(&read);
        head_done(&written);
}
END_TEST

static const struct {
        const char *what;
        pid_t ids[4][2]; /* process and thread, in the order of the rows */
        bool no_boot;
        const char *fault; /* NULL: none */
} order_rows[] = {
        { "as captures write them", { { 1, 1 }, { 1, 7 }, { 5, 5 }, { 5, 6 } }, false, NULL },
        { "a thread twice",
          { { 1, 1 }, { 5, 5 }, { 5, 5 } },
          false,
          "thread 5 of process 5 is there twice" },
        { "threads that descend",
          { { 1, 1 }, { 1, 7 }, { 1, 3 } },
          false,
          "thread 3 of process 1 is out of order" },
        { "processes that descend",
          { { 9, 9 }, { 1, 10 } },
          false,
          "thread 10 of process 1 is out of order" },
        { "a file that does not record its boot is never followed",
          { { 9, 9 }, { 1, 1 }, { 1, 1 } },
          true,
          NULL },
};

/* Two files are read side by side, in the order of their threads. */
START_TEST(the_order_of_threads_is_verified) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *file = NULL;
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        Head head = test_head("x", 1, 0);
        SourceTable sources = {};
        ThreadSample sample;
        uint64_t n_bytes;
        Buffer rows;

        if (!order_rows[_i].no_boot)
                (void) strcpy(head.boot_id, "0123456789abcdef0123456789abcdef");
        head.has_threads = head.has_processes = false;
        buffer_init(&rows, 0);
        thread_sample_clear(&sample);
        sample.comm = SPAN_LITERAL("one");
        for (size_t i = 0; i < ELEMENTSOF(order_rows[_i].ids) && order_rows[_i].ids[i][0]; i++) {
                sample.tgid = order_rows[_i].ids[i][0];
                sample.tid = order_rows[_i].ids[i][1];
                if (i > 0)
                        ck_assert_int_eq(buffer_append_byte(&rows, ','), 0);
                ck_assert_int_eq(thread_row_encode(&rows, &sample, (Span){}), 0);
        }
        ck_assert_int_eq(snapshot_file_writer_new(fd, &file), 0);
        ck_assert_int_eq(snapshot_writer_new(snapshot_file_writer_write, file, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, &head), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, buffer_span(&rows)),
                         0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, &head), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(file, &head, &n_bytes), 0);
        buffer_done(&rows);
        if (order_rows[_i].fault)
                check_fault(order_rows[_i].fault);
        else
                check_verify(0);
}
END_TEST

static const struct {
        const char *id;     /* in the head; "" none */
        const char *ledger; /* in the document; "" none */
        const char *fault;  /* NULL: none */
} ledger_rows[] = {
#define LEDGER_ID "00112233445566778899aabbccddeeff"
#define LEDGER                                                              \
        "{\"generation\":1,\"exits\":2,\"unfinished\":3,\"folded_rows\":4," \
        "\"overflow_exits\":5,\"lost_marks\":6,\"lost_records\":7}"
        { "", "", NULL },
        { LEDGER_ID, LEDGER, NULL },
        { LEDGER_ID, "", "the head names a ledger that the document does not have" },
        { "", LEDGER, "the document has a ledger that its head does not name" },
};

START_TEST(head_and_document_have_one_ledger) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *file = NULL;
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        Head head = test_head("x", 1, 0);
        SourceTable sources = {};
        uint64_t n_bytes;

        (void) strcpy(head.ledger_id, ledger_rows[_i].id);
        head.has_threads = head.has_processes = false;
        ck_assert_int_eq(snapshot_file_writer_new(fd, &file), 0);
        ck_assert_int_eq(snapshot_writer_new(snapshot_file_writer_write, file, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, &head), 0);
        ck_assert_int_eq(snapshot_writer_object(writer, SNAPSHOT_SECTION_LEDGER,
                                                span_of(ledger_rows[_i].ledger)),
                         0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, &head), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(file, &head, &n_bytes), 0);
        if (ledger_rows[_i].fault)
                check_fault(ledger_rows[_i].fault);
        else
                check_verify(0);
}
END_TEST

START_TEST(any_zstd_reads_the_body_and_skips_the_head) {
        Head head = test_head("x", 1, 0);
        char space[16384];
        Buffer bytes;
        size_t n;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        n = ZSTD_decompress(space, sizeof(space), bytes.bytes, bytes.n);
        ck_assert(!ZSTD_isError(n));
        ck_assert_uint_eq(n, head.document_bytes);
        ck_assert_mem_eq(space, "{\"formatVersion\":1,", 19);
        buffer_done(&bytes);
}
END_TEST

START_TEST(a_pipe_can_be_written_to) {
        Head head = test_head("piped", 1, 0);
        char space[65536];
        uint64_t n_bytes;
        int ends[2];

        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        n_bytes = write_snapshot(ends[1], &head);
        ck_assert_int_eq(read(ends[0], space, sizeof(space)), (ssize_t) n_bytes);
        fill_file(fd, space, n_bytes);
        check_verify(0);
        (void) close(ends[0]);
        (void) close(ends[1]);
}
END_TEST

START_TEST(a_large_document_streams) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        Head head = test_head("large", 1, 0);
        char chunk[10007], fault[256];
        uint32_t noise = 1;
        uint64_t n_bytes;
        Buffer document;

        ck_assert_int_eq(snapshot_file_writer_new(fd, &writer), 0);
        for (unsigned i = 0; i < 200; i++) {
                for (size_t k = 0; k < sizeof(chunk); k++) {
                        noise = noise * 1103515245 + 12345;
                        chunk[k] = (char) (noise >> 16);
                }
                ck_assert_int_eq(snapshot_file_writer_write(writer, chunk, sizeof(chunk)), 0);
        }
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), 0);
        ck_assert_uint_eq(head.document_bytes, 200 * sizeof(chunk));
        ck_assert_int_eq(read_document(&document, fault, 4096), 0);
        ck_assert_uint_eq(document.n, 200 * sizeof(chunk));
        ck_assert_mem_eq(document.bytes + document.n - sizeof(chunk), chunk, sizeof(chunk));
        ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), 0);
        buffer_done(&document);
}
END_TEST

START_TEST(a_full_device_fails_the_writer_for_good) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        Head head = test_head("x", 1, 0);
        uint64_t n_bytes = 4711;

        ck_assert_int_ge(full, 0);
        ck_assert_int_eq(snapshot_file_writer_new(full, &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_write(writer, "{}", 2), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), -ENOSPC);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), -ENOSPC);
        ck_assert_int_eq(snapshot_file_writer_write(writer, "{}", 2), -ENOSPC);
        ck_assert_uint_eq(n_bytes, 4711);
        (void) close(full);
}
END_TEST

START_TEST(a_head_has_a_bound) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        Head head = test_head("x", 1, 0);
        uint64_t n_bytes;
        char *origin;

        origin = malloc(HEAD_MAX_BYTES + 1);
        ck_assert_ptr_nonnull(origin);
        memset(origin, ' ', HEAD_MAX_BYTES);
        origin[0] = '{';
        origin[HEAD_MAX_BYTES - 1] = '}';
        origin[HEAD_MAX_BYTES] = '\0';
        head.imported_from = origin;
        ck_assert_int_eq(snapshot_file_writer_new(fd, &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), -EMSGSIZE);
        head_done(&head);
}
END_TEST

START_TEST(every_flipped_bit_is_detected) {
        Head head = test_head("x", 1, 0);
        Buffer bytes;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        for (size_t i = 0; i < bytes.n; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        char flipped = (char) (bytes.bytes[i] ^ 1 << bit);
                        SnapshotFault fault = {};
                        Head read;

                        ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t) i), 1);
                        ck_assert_msg(snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &read,
                                                           &fault) == SNAPSHOT_FILE_E_DAMAGED,
                                      "byte %zu bit %u", i, bit);
                        ck_assert_str_ne(fault.text, "");
                        ck_assert_int_eq(pwrite(fd, &bytes.bytes[i], 1, (off_t) i), 1);
                }
        check_verify(0);
        buffer_done(&bytes);
}
END_TEST

START_TEST(every_cut_is_detected) {
        Head head = test_head("x", 1, 0);
        Buffer bytes;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        for (size_t n = 0; n < bytes.n; n++) {
                fill_file(fd, bytes.bytes, n);
                check_verify(SNAPSHOT_FILE_E_DAMAGED);
        }
        buffer_done(&bytes);
}
END_TEST

START_TEST(what_is_appended_is_detected) {
        Head head = test_head("x", 1, 0);
        Buffer bytes;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        ck_assert_int_eq(buffer_append_byte(&bytes, '\0'), 0);
        fill_file(fd, bytes.bytes, bytes.n);
        check_verify(SNAPSHOT_FILE_E_DAMAGED);
        buffer_done(&bytes);
}
END_TEST

/* The trailer's parts, counted from the end of the file. */
#define MAGIC_BYTES 8
#define LENGTH_BYTES 4
#define DIGEST_BYTES 16

START_TEST(a_lone_body_is_missing_its_head) {
        Head head = test_head("x", 1, 0);
        Buffer bytes;
        uint32_t n_json;
        size_t n_body;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        memcpy(&n_json, bytes.bytes + bytes.n - MAGIC_BYTES - LENGTH_BYTES, sizeof(n_json));
        n_body = bytes.n - MAGIC_BYTES - LENGTH_BYTES - DIGEST_BYTES - le32toh(n_json) - 8;
        fill_file(fd, bytes.bytes, n_body);
        check_fault("the head is missing");
        ck_assert_int_eq(snapshot_file_read_head(fd, &head, NULL), SNAPSHOT_FILE_E_NO_HEAD);
        ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), SNAPSHOT_FILE_E_NO_HEAD);
        buffer_done(&bytes);
}
END_TEST

START_TEST(impossible_lengths_of_the_head_are_damage) {
        static const uint32_t rows[] = { 0, 1, HEAD_MAX_BYTES, HEAD_MAX_BYTES + 1, UINT32_MAX };
        Head head = test_head("x", 1, 0);
        uint64_t n_bytes = write_snapshot(fd, &head);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint32_t length = htole32(rows[i]);

                ck_assert_int_eq(pwrite(fd, &length, sizeof(length),
                                        (off_t) (n_bytes - MAGIC_BYTES - LENGTH_BYTES)),
                                 4);
                ck_assert_int_eq(snapshot_file_read_head(fd, &head, NULL), SNAPSHOT_FILE_E_DAMAGED);
        }
}
END_TEST

/* A file without a body whose trailer is right, with a head of @n_json bytes. */
static void fill_with_head(size_t n_json) {
        static const char start[] = "{\"formatVersion\":1", magic[] = { "ctprof\0\1" };
        uint32_t frame[] = { htole32(TRAILER_FRAME_MAGIC), htole32((uint32_t) n_json + 28) };
        uint32_t length = htole32((uint32_t) n_json);
        Buffer bytes;

        buffer_init(&bytes, 0);
        (void) buffer_append(&bytes, frame, sizeof(frame));
        (void) buffer_append(&bytes, start, sizeof(start) - 1);
        for (size_t i = sizeof(start); i < n_json; i++)
                (void) buffer_append_byte(&bytes, ' ');
        (void) buffer_append_byte(&bytes, '}');
        for (size_t i = 0; i < TRAILER_DIGEST_BYTES; i++)
                (void) buffer_append_byte(&bytes, '\0');
        (void) buffer_append(&bytes, &length, sizeof(length));
        (void) buffer_append(&bytes, magic, MAGIC_BYTES);
        ck_assert_uint_eq(bytes.n, sizeof(frame) + n_json + 28);
        fill_file(fd, bytes.bytes, bytes.n);
        buffer_done(&bytes);
}

START_TEST(a_head_is_read_up_to_its_bound) {
        SnapshotFault fault = {};
        Head head;

        fill_with_head(HEAD_MAX_BYTES);
        ck_assert_int_eq(snapshot_file_read_head(fd, &head, &fault), 0);
        head_done(&head);
        fill_with_head(HEAD_MAX_BYTES + 1);
        ck_assert_int_eq(snapshot_file_read_head(fd, &head, &fault), SNAPSHOT_FILE_E_DAMAGED);
        ck_assert_msg(strstr(fault.text, "the head cannot be") != NULL, "%s", fault.text);
}
END_TEST

static const struct {
        const char *bytes;
        size_t n;
        const char *fault;
} foreign_rows[] = {
#define FOREIGN(bytes, fault) \
        { bytes, sizeof(bytes) - 1, fault }
        FOREIGN("", "the file is empty"),
        FOREIGN("x", "cut short"),
        FOREIGN("{\"formatVersion\":1}", "not a zstd file"),
        FOREIGN("\x28\xb5\x2f\xfd", "cut short"),
        FOREIGN("\x50\x2a\x4d\x18\x04\0\0\0abc", "cut short"),
        FOREIGN("\x50\x2a\x4d\x18\x04\0\0\0abcd", ""),
        FOREIGN("\x27\xb5\x2f\xfd\0\0\0\0\0\0\0\0", "not a zstd file"), /* of zstd 0.7 */
        FOREIGN("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                "zstd: "),
};

START_TEST(foreign_files_are_damage) {
        fill_file(fd, foreign_rows[_i].bytes, foreign_rows[_i].n);
        check_fault(foreign_rows[_i].fault);
}
END_TEST

START_TEST(a_directory_is_no_file) {
        SnapshotFault fault;
        Head head;

        ck_assert_int_eq(snapshot_file_verify(dir.fd, SNAPSHOT_PART_WHOLE, &head, &fault),
                         SNAPSHOT_FILE_E_DAMAGED);
        ck_assert_str_eq(fault.text, "it is not a regular file");
}
END_TEST

/* bodies in pieces */

static const char v0_document[] =
        "{\"captured_at_unix_ns\":5,\"host\":{\"kernel_release\":\"5.10\",\"x\":[]},"
        "\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0},"
        "{\"tid\":2,\"tgid\":1,\"start_time_clock_ticks\":0}],\"cgroup_stats\":{}}";

START_TEST(a_file_of_the_prior_tool_verifies_by_what_it_tells) {
        SnapshotFault fault;
        Head head;

        write_frame(fd, v0_document, sizeof(v0_document) - 1);
        ck_assert_int_eq(snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &head, &fault), 0);
        ck_assert_uint_eq(head.format_version, 0);
        ck_assert(head.has_threads && head.threads == 2);
        ck_assert(head.has_processes && head.processes == 1);
        ck_assert(head.has_start_realtime && head.start_realtime_ns == 5);
        ck_assert_str_eq(head.kernel_release, "5.10");
        ck_assert(head.has_size);
        head_done(&head);
}
END_TEST

START_TEST(frames_may_follow_each_other_and_be_skippable) {
        static const char skippable[] = "\x53\x2a\x4d\x18\x03\0\0\0abc";

        for (size_t at = 1; at < sizeof(v0_document) - 1; at += 7) {
                ck_assert_int_eq(ftruncate(fd, 0), 0);
                ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
                ck_assert_int_eq(write(fd, skippable, 11), 11);
                write_frame(fd, v0_document, at);
                ck_assert_int_eq(write(fd, skippable, 11), 11);
                write_frame(fd, "", 0);
                write_frame(fd, v0_document + at, sizeof(v0_document) - 1 - at);
                ck_assert_int_eq(write(fd, skippable, 11), 11);
                check_verify(0);
        }
}
END_TEST

START_TEST(garbage_between_frames_is_damage) {
        write_frame(fd, v0_document, sizeof(v0_document) - 1);
        ck_assert_int_eq(write(fd, "garbage", 7), 7);
        check_fault("data other than a zstd frame follows");
}
END_TEST

START_TEST(malformed_documents_are_damage_with_an_offset_in_the_document) {
        static const char text[] = "{\"threads\":[1]}";
        SnapshotFault fault;
        Head head;

        write_frame(fd, text, sizeof(text) - 1);
        ck_assert_int_eq(snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &head, &fault),
                         SNAPSHOT_FILE_E_DAMAGED);
        ck_assert(fault.has_offset && fault.in_document);
        ck_assert_uint_eq(fault.offset, 12);
        ck_assert_str_eq(fault.text, "threads: a thread must be an object");
}
END_TEST

START_TEST(newer_formats_are_named) {
        static const char text[] = "{\"formatVersion\":2}";

        write_frame(fd, text, sizeof(text) - 1);
        check_fault("newer than this program reads");
}
END_TEST

/*
 * Writes a body of @n_document bytes, a head that declares @n_declared, and a correct digest.
 */
static void write_declared(const char *text, uint64_t n_declared, const Head *template) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        Buffer bytes, other;
        uint64_t n_bytes;
        char declared[64], actual[64], *at;
        int written = test_dir_file(&dir, "written"), r;
        Head head = *template;
        SnapshotFault fault;

        ck_assert_int_eq(snapshot_file_writer_new(written, &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_write(writer, text, strlen(text)), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), 0);

        /* Both numbers have as many digits, so that the JSON keeps its length. */
        (void) snprintf(actual, sizeof(actual), "\"documentBytes\":%" PRIu64, head.document_bytes);
        (void) snprintf(declared, sizeof(declared), "\"documentBytes\":%" PRIu64, n_declared);
        ck_assert_uint_eq(strlen(actual), strlen(declared));
        read_file(written, &bytes);
        at = memmem(bytes.bytes, bytes.n, actual, strlen(actual));
        ck_assert_ptr_nonnull(at);
        memcpy(at, declared, strlen(declared));
        fill_file(fd, bytes.bytes, bytes.n);

        /* Only the digest is wrong now; plain readers do not check it. */
        r = snapshot_file_check_digest(fd, &fault);
        ck_assert_int_eq(r, n_declared == head.document_bytes ? 0 : SNAPSHOT_FILE_E_DAMAGED);
        read_file(fd, &other);
        ck_assert_uint_eq(other.n, bytes.n);
        buffer_done(&bytes);
        buffer_done(&other);
        (void) close(written);
}

static const struct {
        int64_t difference;
        const char *fault; /* NULL: none */
} declared_rows[] = {
        { 0, NULL },
        { -1, "longer than its head declares" },
        { -10, "longer than its head declares" },
        { 1, "but its head says" },
        { 10, "but its head says" },
};

START_TEST(the_document_is_as_long_as_its_head_declares) {
        static const char text[] = "{\"formatVersion\":1,\"threads\":{\"columns\":[],\"rows\":[]}}";
        Head head = test_head("x", 1, 0);
        uint64_t declared = (uint64_t) ((int64_t) strlen(text) + declared_rows[_i].difference);
        char fault[256];
        Buffer document;
        int r;

        write_declared(text, declared, &head);
        r = read_document(&document, fault, 4096);
        ck_assert_int_eq(r, declared_rows[_i].fault ? -EBADMSG : 0);
        ck_assert_ptr_nonnull(
                strstr(fault, declared_rows[_i].fault ? declared_rows[_i].fault : ""));
        ck_assert_uint_le(document.n, strlen(text));
        buffer_done(&document);
}
END_TEST

START_TEST(a_bomb_is_read_no_farther_than_declared) {
        static char zeros[1 << 20];
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *reader = NULL;
        Head head = test_head("bomb", 1, 0);
        uint64_t n_total = 0;
        char space[4096];
        Buffer bytes;
        size_t n;
        int r;

        /* A few dozen bytes that expand to a megabyte, under a head with a small document. */
        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
        write_frame(fd, zeros, sizeof(zeros));
        ck_assert_int_eq(write(fd, bytes.bytes, bytes.n), (ssize_t) bytes.n);
        ck_assert_int_eq(snapshot_file_reader_new(fd, SNAPSHOT_PART_WHOLE, &reader, &head, NULL),
                         0);
        while ((r = snapshot_file_refill(reader, space, sizeof(space), &n)) == 0 && n > 0)
                n_total += n;
        ck_assert_int_eq(r, -EBADMSG);
        ck_assert_uint_le(n_total, head.document_bytes);
        ck_assert_int_eq(snapshot_file_refill(reader, space, sizeof(space), &n), -EBADMSG);
        head_done(&head);
        buffer_done(&bytes);
}
END_TEST

START_TEST(a_window_above_the_limit_is_refused) {
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        static char zeros[1 << 16], space[1 << 16];
        ZSTD_inBuffer in = { zeros, sizeof(zeros), 0 };
        ZSTD_outBuffer out = { space, sizeof(space), 0 };

        ck_assert(!ZSTD_isError(
                ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, LIMIT_WINDOW_LOG + 1)));
        ck_assert(!ZSTD_isError(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_continue)));
        ck_assert_uint_eq(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end), 0);
        fill_file(fd, space, out.pos);
        check_fault("zstd: ");
        (void) ZSTD_freeCCtx(zstd);
}
END_TEST

/* heads that disagree with their documents */

static const struct {
        const char *fault;
        uint64_t threads, processes;
} disagreement_rows[] = {
        { "2 threads, but its head says 3", 3, 1 },
        { "1 processes, but its head says 2", 2, 2 },
};

START_TEST(counts_of_head_and_document_agree) {
        Head head = test_head("x", 1, 0);
        static const char text[] =
                "{\"formatVersion\":1,\"threads\":{\"columns\":[\"tid\",\"tgid\","
                "\"start_time_clock_ticks\"],\"rows\":[[1,1,0],[2,1,0]]}}";

        head.threads = disagreement_rows[_i].threads;
        head.processes = disagreement_rows[_i].processes;
        write_declared(text, strlen(text), &head);
        check_fault(disagreement_rows[_i].fault);
}
END_TEST

START_TEST(format_versions_of_head_and_document_agree) {
        Head head = test_head("x", 1, 0);

        write_declared(v0_document, strlen(v0_document), &head);
        check_fault("format version");
}
END_TEST

/* new heads */

START_TEST(a_new_head_keeps_the_body) {
        Head head = test_head("old", 3, 1), renamed = test_head("new", 4, 2), read;
        int other = test_dir_file(&dir, "other");
        Buffer before, after;
        uint64_t n_bytes;
        char fault[256];

        (void) write_snapshot(fd, &head);
        ck_assert_int_eq(read_document(&before, fault, 4096), 0);
        renamed.tagged = true;
        renamed.format_version = 9; /* taken from the body, not from the caller */
        ck_assert_int_eq(snapshot_file_rehead(fd, other, &renamed, &n_bytes, NULL), 0);
        ck_assert_int_eq(dup2(other, fd), fd);
        ck_assert_uint_eq(n_bytes, (uint64_t) lseek(fd, 0, SEEK_END));
        check_verify(0);
        ck_assert_int_eq(snapshot_file_read_head(fd, &read, NULL), 0);
        ck_assert_str_eq(read.name, "new");
        ck_assert(read.tagged);
        ck_assert_uint_eq(read.uid, 2);
        ck_assert_uint_eq(read.format_version, HEAD_FORMAT_VERSION);
        ck_assert_uint_eq(read.document_bytes, head.document_bytes);
        ck_assert_int_eq(read_document(&after, fault, 4096), 0);
        ck_assert(span_equal(buffer_span(&before), buffer_span(&after)));
        buffer_done(&before);
        buffer_done(&after);
        (void) close(other);
}
END_TEST

START_TEST(a_damaged_body_gets_no_new_head) {
        Head head = test_head("old", 3, 1), renamed = test_head("new", 4, 2);
        SnapshotFault fault = {};
        uint64_t n_bytes;
        Buffer bytes;

        (void) write_snapshot(fd, &head);
        read_file(fd, &bytes);
        for (size_t i = 0; i < bytes.n; i++) {
                int other = test_dir_file(&dir, "other");
                char flipped = (char) (bytes.bytes[i] ^ 1);
                int r;

                ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t) i), 1);
                r = snapshot_file_rehead(fd, other, &renamed, &n_bytes, &fault);
                /* A flipped bit of the magic makes it a file without head. */
                ck_assert_msg(r == SNAPSHOT_FILE_E_DAMAGED ||
                                      (r == SNAPSHOT_FILE_E_NO_HEAD && i + MAGIC_BYTES >= bytes.n),
                              "byte %zu: %d", i, r);
                ck_assert_int_eq(pwrite(fd, &bytes.bytes[i], 1, (off_t) i), 1);
                (void) close(other);
        }
        buffer_done(&bytes);
}
END_TEST

START_TEST(a_file_without_head_gets_no_new_one) {
        Head head = test_head("new", 4, 2);
        int other = test_dir_file(&dir, "other");
        uint64_t n_bytes;

        write_frame(fd, v0_document, sizeof(v0_document) - 1);
        ck_assert_int_eq(snapshot_file_rehead(fd, other, &head, &n_bytes, NULL),
                         SNAPSHOT_FILE_E_NO_HEAD);
        ck_assert_int_eq(lseek(other, 0, SEEK_END), 0);
        (void) close(other);
}
END_TEST

/* recordings */

#define RECORDED "{\"recording\":{}}"

static int parts[SNAPSHOT_RECORDING_PARTS];

/* Each part under a head of its own. */
static void write_parts(void) {
        static const char *const names[] = { "begin", "end", "between" };
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        Head head;
        uint64_t n_bytes;

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                parts[i] = test_dir_file(&dir, names[i]);
                head = test_head(names[i], 10 + i, 0);
                if (i < 2)
                        (void) write_snapshot(parts[i], &head);
        }
        ck_assert_int_eq(snapshot_file_writer_new(parts[2], &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_write(writer, RECORDED, strlen(RECORDED)), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), 0);
}

static void close_parts(void) {
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                (void) close(parts[i]);
}

static void write_recording(Head *head) {
        SnapshotFault fault = {};
        uint64_t n_bytes = 0;
        int r;

        write_parts();
        r = snapshot_file_join(parts, fd, head, &n_bytes, &fault);
        ck_assert_msg(r == 0, "%s", fault.text);
        ck_assert_uint_eq(n_bytes, (uint64_t) lseek(fd, 0, SEEK_END));
}

static void check_parts(const char *name) {
        static const char *const names[] = { "begin", "end" };
        Buffer document;
        char fault[256];
        Head head;

        ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), 0);
        ck_assert_int_eq(snapshot_file_read_head(fd, &head, NULL), 0);
        ck_assert_str_eq(head.name, name);
        ck_assert(head.is_recording && head.has_parts);
        ck_assert_uint_eq(head.begin_bytes, (uint64_t) lseek(parts[0], 0, SEEK_END));
        ck_assert_uint_eq(head.end_bytes, (uint64_t) lseek(parts[1], 0, SEEK_END));
        head_done(&head);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                SnapshotFault why = {};
                int r = snapshot_file_verify(fd, SNAPSHOT_PART_BEGIN + (SnapshotPart) i, &head,
                                             &why);

                ck_assert_msg(r == 0, "%s", why.text);
                ck_assert_str_eq(head.name, names[i]);
                ck_assert_uint_eq(head.threads, 2);
                ck_assert(!head.is_recording);
                head_done(&head);
        }
        for (size_t n = 1; n < 4096; n *= 3) {
                ck_assert_int_eq(read_part(SNAPSHOT_PART_RECORDING, &document, fault, n), 0);
                ck_assert(span_is(buffer_span(&document), RECORDED));
                buffer_done(&document);
        }
}

START_TEST(a_recording_has_its_parts) {
        Head head = test_head("recorded", 10, 7);
        Buffer document;
        char fault[256];

        write_recording(&head);
        check_parts("recorded");
        /* There is no document that is all of it. */
        ck_assert_int_eq(read_document(&document, fault, 64), SNAPSHOT_FILE_E_DAMAGED);
        ck_assert_str_eq(fault, "the head does not give the length of the document");
        buffer_done(&document);
        check_verify(SNAPSHOT_FILE_E_DAMAGED);
        close_parts();
}
END_TEST

START_TEST(a_new_head_keeps_the_parts) {
        Head head = test_head("old", 10, 7), renamed = test_head("new", 11, 8);
        int other = test_dir_file(&dir, "other");
        uint64_t n_bytes;

        write_recording(&head);
        renamed.begin_bytes = 3; /* taken from the file, not from the caller */
        ck_assert_int_eq(snapshot_file_rehead(fd, other, &renamed, &n_bytes, NULL), 0);
        ck_assert_int_eq(dup2(other, fd), fd);
        ck_assert_uint_eq(n_bytes, (uint64_t) lseek(fd, 0, SEEK_END));
        check_parts("new");
        close_parts();
        (void) close(other);
}
END_TEST

/* A fault in any part, or a part that is no whole file, and there is no recording. */
START_TEST(damaged_parts_are_not_joined) {
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                Head head = test_head("x", 1, 0);
                SnapshotFault fault = {};
                uint64_t n_bytes;
                Buffer bytes;
                char flipped;

                write_parts();
                read_file(parts[i], &bytes);
                flipped = (char) (bytes.bytes[bytes.n / 2] ^ 1);
                ck_assert_int_eq(pwrite(parts[i], &flipped, 1, (off_t) (bytes.n / 2)), 1);
                ck_assert_int_eq(snapshot_file_join(parts, fd, &head, &n_bytes, &fault),
                                 SNAPSHOT_FILE_E_DAMAGED);
                ck_assert_str_ne(fault.text, "");
                fill_file(parts[i], bytes.bytes, bytes.n - 1);
                ck_assert_int_ne(snapshot_file_join(parts, fd, &head, &n_bytes, &fault), 0);
                fill_file(parts[i], "", 0);
                ck_assert_int_ne(snapshot_file_join(parts, fd, &head, &n_bytes, &fault), 0);
                buffer_done(&bytes);
                close_parts();
        }
}
END_TEST

START_TEST(every_flipped_bit_of_a_recording_is_detected) {
        Head head = test_head("x", 1, 0), read;
        Buffer bytes;

        write_recording(&head);
        read_file(fd, &bytes);
        for (size_t i = 0; i < bytes.n; i++) {
                char flipped = (char) (bytes.bytes[i] ^ 1 << i % 8);
                SnapshotFault fault = {};

                ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t) i), 1);
                ck_assert_msg(snapshot_file_verify(fd, SNAPSHOT_PART_END, &read, &fault) ==
                                      SNAPSHOT_FILE_E_DAMAGED,
                              "byte %zu", i);
                ck_assert_str_ne(fault.text, "");
                ck_assert_int_eq(pwrite(fd, &bytes.bytes[i], 1, (off_t) i), 1);
        }
        buffer_done(&bytes);
        close_parts();
}
END_TEST

START_TEST(every_cut_of_a_recording_is_detected) {
        Head head = test_head("x", 1, 0);
        Buffer bytes, document;
        char fault[256];

        write_recording(&head);
        read_file(fd, &bytes);
        for (size_t n = 0; n < bytes.n; n++) {
                fill_file(fd, bytes.bytes, n);
                for (SnapshotPart part = SNAPSHOT_PART_BEGIN; part <= SNAPSHOT_PART_RECORDING;
                     part++) {
                        ck_assert_int_eq(read_part(part, &document, fault, 64),
                                         SNAPSHOT_FILE_E_DAMAGED);
                        ck_assert_str_ne(fault, "");
                        buffer_done(&document);
                }
        }
        buffer_done(&bytes);
        close_parts();
}
END_TEST

/* Plain readers do not check the digest: a head that lies gets them no farther than its file. */
START_TEST(a_head_that_lies_about_the_parts) {
        static const char *const members[] = { "\"beginBytes\":", "\"endBytes\":" };
        Head head = test_head("x", 1, 0), read;
        Buffer bytes, document;
        char fault[256];

        write_recording(&head);
        read_file(fd, &bytes);
        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                char *at = memmem(bytes.bytes, bytes.n, members[i], strlen(members[i])), saved[3];

                ck_assert_ptr_nonnull(at);
                at += strlen(members[i]);
                memcpy(saved, at, sizeof(saved));
                for (unsigned value = 100; value < 1000; value++) {
                        bool is_true;

                        (void) snprintf(fault, sizeof(fault), "%u", value);
                        memcpy(at, fault, sizeof(saved));
                        is_true = memcmp(at, saved, sizeof(saved)) == 0;
                        fill_file(fd, bytes.bytes, bytes.n);
                        ck_assert_int_eq(snapshot_file_read_head(fd, &read, NULL), 0);
                        head_done(&read);
                        ck_assert_int_eq(snapshot_file_verify(fd, SNAPSHOT_PART_END, &read, NULL),
                                         is_true ? 0 : SNAPSHOT_FILE_E_DAMAGED);
                        if (is_true)
                                head_done(&read);
                        /* A part may seem to begin with the end of the one before. */
                        if (read_part(SNAPSHOT_PART_RECORDING, &document, fault, 64) == 0)
                                ck_assert(span_is(buffer_span(&document), RECORDED));
                        else
                                ck_assert(!is_true);
                        buffer_done(&document);
                }
                memcpy(at, saved, sizeof(saved));
        }
        buffer_done(&bytes);
        close_parts();
}
END_TEST

START_TEST(a_snapshot_has_no_parts) {
        Head head = test_head("x", 1, 0);
        Buffer document;
        char fault[256];

        (void) write_snapshot(fd, &head);
        for (SnapshotPart part = SNAPSHOT_PART_BEGIN; part <= SNAPSHOT_PART_RECORDING; part++) {
                ck_assert_int_eq(read_part(part, &document, fault, 64), SNAPSHOT_FILE_E_DAMAGED);
                ck_assert_str_eq(fault, "it does not have the parts of a recording");
                buffer_done(&document);
        }
        /* Nor has what has no head. */
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
        write_frame(fd, v0_document, sizeof(v0_document) - 1);
        ck_assert_int_eq(read_part(SNAPSHOT_PART_BEGIN, &document, fault, 64),
                         SNAPSHOT_FILE_E_DAMAGED);
        buffer_done(&document);
}
END_TEST

static TCase *case_new(Suite *suite, const char *name) {
        TCase *tcase = tcase_create(name);

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        suite_add_tcase(suite, tcase);
        return tcase;
}

int main(void) {
        Suite *suite = suite_create("snapshot-file");
        TCase *write = case_new(suite, "write"), *damage = case_new(suite, "damage");
        TCase *body = case_new(suite, "body"), *rehead = case_new(suite, "rehead");
        TCase *recording = case_new(suite, "recording");

        tcase_add_test(write, a_file_is_read_as_it_was_written);
        tcase_add_loop_test(write, the_order_of_threads_is_verified, 0, ELEMENTSOF(order_rows));
        tcase_add_loop_test(write, head_and_document_have_one_ledger, 0, ELEMENTSOF(ledger_rows));
        tcase_add_test(write, any_zstd_reads_the_body_and_skips_the_head);
        tcase_add_test(write, a_pipe_can_be_written_to);
        tcase_add_test(write, a_large_document_streams);
        tcase_add_test(write, a_full_device_fails_the_writer_for_good);
        tcase_add_test(write, a_head_has_a_bound);
        tcase_add_test(damage, every_flipped_bit_is_detected);
        tcase_add_test(damage, every_cut_is_detected);
        tcase_add_test(damage, what_is_appended_is_detected);
        tcase_add_test(damage, a_lone_body_is_missing_its_head);
        tcase_add_test(damage, impossible_lengths_of_the_head_are_damage);
        tcase_add_test(damage, a_head_is_read_up_to_its_bound);
        tcase_add_loop_test(damage, foreign_files_are_damage, 0, ELEMENTSOF(foreign_rows));
        tcase_add_test(damage, a_directory_is_no_file);
        tcase_add_loop_test(damage, counts_of_head_and_document_agree, 0,
                            ELEMENTSOF(disagreement_rows));
        tcase_add_test(damage, format_versions_of_head_and_document_agree);
        tcase_add_test(body, a_file_of_the_prior_tool_verifies_by_what_it_tells);
        tcase_add_test(body, frames_may_follow_each_other_and_be_skippable);
        tcase_add_test(body, garbage_between_frames_is_damage);
        tcase_add_test(body, malformed_documents_are_damage_with_an_offset_in_the_document);
        tcase_add_test(body, newer_formats_are_named);
        tcase_add_loop_test(body, the_document_is_as_long_as_its_head_declares, 0,
                            ELEMENTSOF(declared_rows));
        tcase_add_test(body, a_bomb_is_read_no_farther_than_declared);
        tcase_add_test(body, a_window_above_the_limit_is_refused);
        tcase_add_test(rehead, a_new_head_keeps_the_body);
        tcase_add_test(rehead, a_damaged_body_gets_no_new_head);
        tcase_add_test(rehead, a_file_without_head_gets_no_new_one);
        tcase_add_test(recording, a_recording_has_its_parts);
        tcase_add_test(recording, a_new_head_keeps_the_parts);
        tcase_add_test(recording, damaged_parts_are_not_joined);
        tcase_add_test(recording, every_flipped_bit_of_a_recording_is_detected);
        tcase_add_test(recording, every_cut_of_a_recording_is_detected);
        tcase_add_test(recording, a_head_that_lies_about_the_parts);
        tcase_add_test(recording, a_snapshot_has_no_parts);
        return check_main(suite);
}
