/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What the job that records tells the one that unwinds: processes with any mappings of a small
 * program, and samples with any registers and stacks, what may be debug files, and maps of code. A
 * message that makes sense is taken, another one is refused and changes nothing. Time is neither
 * lost nor made up: what was taken adds up to the weights of the samples. What comes of it all can
 * be written and read.
 *
 * Aims at: daemon/record/collector.c, daemon/record/program/unwinder.c,
 *          daemon/record/program/module.c, daemon/record/program/symbol-table.c
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "record/collector.h"
#include "record/recording-document.h"
#include "small-elf.h"

#define BASE UINT64_C(0x555500000000)
#define STACK UINT64_C(0x7ffc00000000)
#define MAX_MAPPINGS 6u
#define MAX_WORDS 40u

static int program = -1;

typedef struct Run {
        Collector *collector;
        FuzzInput input;
        uint64_t ns; /* of what was taken */
} Run;

static int memory_with(const void *bytes, size_t n) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);

        fuzz_expect(fd >= 0 && write(fd, bytes, n) == (ssize_t) n && lseek(fd, 0, SEEK_SET) == 0,
                    "there is memory for a file");
        return fd;
}

/* In an allocation of exactly its size. */
static int take(Run *run, RecordMessageKind kind, const Buffer *body, int fd) {
        _cleanup_(freep) char *copy = fuzz_copy(buffer_span(body));
        RecordMessage message = { .kind = kind, .body = copy, .n = body->n, .fd = fd };
        int r = collector_take(run->collector, &message);

        fuzz_expect(message.fd < 0, "a descriptor is taken over");
        fuzz_expect(r == 0 || r == -EBADMSG, "a message is taken or refused: %d", r);
        return r;
}

static void take_module(Run *run, bool has_file) {
        const RecordModule module = { .dev = 1, .inode = fuzz_take_u8(&run->input) };
        _cleanup_(buffer_done) Buffer body = {};
        Span path = fuzz_take(&run->input, fuzz_take_u8(&run->input) % 32);

        (void) buffer_append(&body, &module, sizeof(module));
        (void) buffer_append(&body, path.n > 0 ? path.bytes : "x", path.n > 0 ? path.n : 1);
        fuzz_expect(take(run, RECORD_MESSAGE_MODULE, &body, has_file ? dup(program) : -EBADF) == 0,
                    "a module is taken");
}

/* An address near the program, or anywhere. */
static uint64_t take_address(Run *run) {
        uint16_t near = fuzz_take_u16(&run->input);

        if (near == UINT16_MAX)
                return fuzz_take_u64(&run->input);
        return near & 0x8000 ? STACK + (near & 0x7fff) : BASE + near;
}

static void take_process(Run *run) {
        RecordProcess process = { .tgid = fuzz_take_u8(&run->input) % 4 };
        size_t n = fuzz_take_u8(&run->input) % (MAX_MAPPINGS + 1);
        size_t n_modules = collector_modules(run->collector)->n;
        _cleanup_(buffer_done) Buffer body = {};
        bool is_right = true;
        uint64_t last = 0;

        memset(process.comm, fuzz_take_u8(&run->input), sizeof(process.comm));
        (void) buffer_append(&body, &process, sizeof(process));
        for (size_t i = 0; i < n; i++) {
                Mapping mapping = { .module = fuzz_take_u8(&run->input) % 8 };

                mapping.begin = take_address(run);
                mapping.end = take_address(run);
                mapping.offset = fuzz_take_u16(&run->input);
                is_right = is_right && mapping.module < n_modules && mapping.begin < mapping.end &&
                           mapping.begin >= last;
                last = mapping.end;
                (void) buffer_append(&body, &mapping, sizeof(mapping));
        }
        fuzz_expect((take(run, RECORD_MESSAGE_PROCESS, &body, -EBADF) == 0) == is_right,
                    "mappings ascend and have modules");
}

/* A map of code that was made at run time: functions near the program, and any bytes. */
static void take_code(Run *run) {
        const RecordProcess process = { .tgid = fuzz_take_u8(&run->input) % 4 };
        _cleanup_(buffer_done) Buffer body = {}, map = {};
        unsigned n = fuzz_take_u8(&run->input) % 8;
        Span bytes;

        for (unsigned i = 0; i < n; i++) {
                unsigned long long at = take_address(run), size = fuzz_take_u8(&run->input);

                (void) buffer_append_format(&map, "%llx %llx made %u\n", at, size, i);
        }
        bytes = fuzz_take(&run->input, fuzz_take_u8(&run->input) % 64);
        (void) buffer_append(&map, bytes.bytes ? bytes.bytes : "", bytes.n);
        (void) buffer_append(&body, &process, sizeof(process));
        fuzz_expect(take(run, RECORD_MESSAGE_JIT, &body,
                         memory_with(map.bytes ? map.bytes : "", map.n)) == 0,
                    "a map is taken");
}

/* What may be a debug file: the program, or one that differs in a byte. */
static void take_debug(Run *run) {
        const RecordDebug debug = { .module = fuzz_take_u8(&run->input) % 8 };
        bool is_right = debug.module < collector_modules(run->collector)->n;
        _cleanup_(buffer_done) Buffer body = {};
        char elf[SMALL_ELF_BYTES];
        size_t at = fuzz_take_u16(&run->input);

        small_elf_make(elf);
        if (at < sizeof(elf))
                elf[at] = (char) fuzz_take_u8(&run->input);
        (void) buffer_append(&body, &debug, sizeof(debug));
        fuzz_expect((take(run, RECORD_MESSAGE_DEBUG, &body, memory_with(elf, sizeof(elf))) == 0) ==
                            is_right,
                    "a debug file is of a module");
}

static RecordPart take_part(Run *run) {
        uint16_t ns = fuzz_take_u16(&run->input);

        return (RecordPart){ ns, fuzz_take_u16(&run->input) };
}

static uint64_t part_ns(const RecordPart *part) {
        return part->weight_ns == 0 ? 0 : MAX_OF(part->ns, part->weight_ns);
}

/* What the wait of a sample is on; the name that is told before it may be of something else. */
static void take_object(Run *run, RecordObject *object) {
        const RecordObjectName told = { .is_mapped_file = fuzz_take_u8(&run->input) & 1,
                                        .offset = fuzz_take_u16(&run->input) };
        Span name = fuzz_take(&run->input, fuzz_take_u8(&run->input) % 32);
        _cleanup_(buffer_done) Buffer body = {};

        object->kind = fuzz_take_u8(&run->input) % _RECORD_OBJECT_MAX;
        if (object->kind == RECORD_OBJECT_FUTEX)
                object->futex = take_address(run);
        else if (object->kind == RECORD_OBJECT_SOCKET) {
                Span bytes = fuzz_take(&run->input, sizeof(object->socket));

                if (bytes.n > 0)
                        memcpy(&object->socket, bytes.bytes, bytes.n);
        }
        (void) buffer_append(&body, &told, sizeof(told));
        (void) buffer_append(&body, name.bytes ? name.bytes : "", name.n);
        /* A path has no NUL. */
        fuzz_expect((take(run, RECORD_MESSAGE_OBJECT, &body, -EBADF) == 0) ==
                            (name.n > 0 && !memchr(name.bytes, '\0', name.n)),
                    "a name is taken");
}

static void take_sample(Run *run) {
        uint8_t flags = fuzz_take_u8(&run->input), lie = fuzz_take_u8(&run->input);
        RecordSample sample = {
                .tid = fuzz_take_u8(&run->input),
                .tgid = fuzz_take_u8(&run->input) % 4,
                .n_frames = fuzz_take_u8(&run->input) % 5,
                .place = fuzz_take_u8(&run->input) % (_RECORD_PLACE_MAX + 1),
                .is_kernel_thread = (flags & 7) == 7,
                .has_registers = !(flags & 8),
                .is_late = (flags & 0x30) == 0x30,
        };
        size_t n_words = fuzz_take_u8(&run->input) % (MAX_WORDS + 1);
        _cleanup_(buffer_done) Buffer body = {};
        bool is_right = true;

        sample.wait = take_part(run);
        sample.queue = take_part(run);
        sample.running = take_part(run);
        sample.comm[0] = (char) fuzz_take_u8(&run->input);
        for (unsigned i = 0; i < sample.n_frames; i++)
                sample.frames[i] = take_address(run);
        for (size_t i = 0; i < 4; i++)
                sample.registers[fuzz_take_u8(&run->input) % UNWIND_REGISTERS] = take_address(run);
        sample.registers[SMALL_ELF_PC_AT] = take_address(run);
        sample.registers[SMALL_ELF_SP_AT] = flags & 64 ? take_address(run) : STACK;
        sample.n_stack_bytes = (uint32_t) (n_words * sizeof(uint64_t));
        if (flags & 128)
                take_object(run, &sample.object);
        if (lie > 0xf0) {
                is_right = false;
                if (lie == 0xff)
                        sample.n_frames = RECORD_MAX_FRAMES + 1 + fuzz_take_u16(&run->input);
                else if (lie == 0xfe)
                        sample.place = _RECORD_PLACE_MAX + 1;
                else if (lie == 0xfd)
                        sample.object.kind = _RECORD_OBJECT_MAX;
                else
                        sample.n_stack_bytes += lie;
        }
        (void) buffer_append(&body, &sample, sizeof(sample));
        for (size_t i = 0; i < n_words; i++) {
                uint64_t word = take_address(run);

                (void) buffer_append(&body, &word, sizeof(word));
        }
        fuzz_expect((take(run, RECORD_MESSAGE_SAMPLE, &body, -EBADF) == 0) == is_right,
                    "a sample is taken if it is one");
        if (!is_right)
                return;
        run->ns += (sample.place < _RECORD_PLACE_MAX ? part_ns(&sample.wait) : 0) +
                   part_ns(&sample.queue) + part_ns(&sample.running);
}

static void take_any(Run *run) {
        RecordMessageKind kind = fuzz_take_u8(&run->input) % (_RECORD_MESSAGE_MAX + 1);
        Span bytes = fuzz_take(&run->input, fuzz_take_u16(&run->input) % 1200);
        _cleanup_(buffer_done) Buffer body = {};

        /* A whole sample may be among these: its time is not known here. */
        if (kind == RECORD_MESSAGE_SAMPLE && bytes.n >= sizeof(RecordSample))
                bytes.n = sizeof(RecordSample) - 1;
        (void) buffer_append(&body, bytes.bytes ? bytes.bytes : "", bytes.n);
        (void) take(run, kind, &body,
                    kind == RECORD_MESSAGE_KERNEL
                            ? memory_with(body.bytes ? body.bytes : "", body.n)
                            : -EBADF);
}

/* what comes of it */

static int append(void *userdata, const char *bytes, size_t n) {
        return buffer_append(userdata, bytes, n);
}

static int give(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        Span *rest = userdata;

        *ret_n = MIN_OF(rest->n, n_space);
        if (*ret_n > 0)
                memcpy(space, rest->bytes, *ret_n);
        *rest = (Span){ rest->bytes + *ret_n, rest->n - *ret_n };
        return 0;
}

static void check(const Run *run) {
        const StackTable *table = collector_table(run->collector);
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        _cleanup_(buffer_done) Buffer text = {}, again = {};
        RecordingDocument document = {};
        const RecordingFacts facts = { .every_ns = 1, .objects = true };
        uint64_t ns = 0, offset;
        Span rest;
        int r;

        for (size_t i = 0; i < table->n_samples; i++)
                ns += table->samples[i].long_ns + table->samples[i].short_ns;
        fuzz_expect(ns == run->ns, "time is neither lost nor made up");
        fuzz_expect(recording_document_write(&facts, table, collector_course(run->collector),
                                             collector_modules(run->collector), append, &text) == 0,
                    "it can be written");
        rest = buffer_span(&text);
        r = recording_document_read(give, &rest, 0, &document, &offset, complaint);
        fuzz_expect(r == 0, "what was written is read: %s", complaint);
        fuzz_expect(recording_document_write(&facts, &document.table, &document.course,
                                             &document.modules, append, &again) == 0 &&
                            span_equal(buffer_span(&text), buffer_span(&again)),
                    "what was written is read as it was");
        recording_document_done(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Run run = { .input = fuzz_input(data, size) };

        if (program < 0) {
                char elf[SMALL_ELF_BYTES];

                small_elf_make(elf);
                program = memory_with(elf, sizeof(elf));
        }
        fuzz_expect(collector_new(&run.collector) == 0, "memory");
        take_module(&run, true);
        while (run.input.n > 0) {
                switch (fuzz_take_u8(&run.input) % 10) {
                case 0:
                        take_module(&run, false);
                        break;
                case 1:
                        take_any(&run);
                        break;
                case 2:
                case 3:
                        take_process(&run);
                        break;
                case 8:
                        take_code(&run);
                        break;
                case 9:
                        take_debug(&run);
                        break;
                default:
                        take_sample(&run);
                        break;
                }
        }
        check(&run);
        collector_free(run.collector);
        return 0;
}
