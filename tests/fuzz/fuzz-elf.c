/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs and libraries of others, as the file job reads them: 'm' is one that is made from what
 * follows, and then changed by it; anything else is a file as it is. Whatever a file says about
 * jemalloc lies within its bounds and is said again the second time. A file that loses its end
 * while it is read, or whose medium fails, is refused or says the same. A made file is read as it
 * was made.
 *
 * Aims at: daemon/capture/heap/elf-file.c daemon/capture/heap/heap-code.c
 *          daemon/capture/heap/heap-layout.c
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "byte-span.h"
#include "made-elf.h"
#include "capture/heap/heap-layout.h"
#include "capture/heap/thread-counters.h"

typedef struct Reading {
        int r_heap, r_thread;
        HeapLayout heap;
        ThreadLayout thread;
} Reading;

/* From a copy of its own, so that nobody reads on behind the end. */
static Reading read_bytes(Span bytes, bool is_cut, int error, uint64_t fails_from) {
        _cleanup_(freep) char *copy = fuzz_copy(bytes);
        ByteSpan file = {
                .bytes = { copy, bytes.n },
                .is_cut = is_cut,
                .error = error,
                .fails_from = fails_from,
        };
        int fd = byte_span_open(&file);
        Reading reading = {};

        reading.r_heap = heap_layout_find(fd, bytes.n, &reading.heap);
        reading.r_thread = thread_layout_find(fd, bytes.n, &reading.thread);
        byte_span = NULL;
        if (reading.r_heap == 0)
                fuzz_expect(heap_layout_is_valid(&reading.heap, (uint16_t) reading.heap.machine),
                            "a layout is within its bounds");
        if (reading.r_thread == 0)
                fuzz_expect(thread_layout_is_valid(&reading.thread),
                            "offsets in a thread are within it");
        return reading;
}

static void check_file(Span bytes, uint64_t cut) {
        Reading whole = read_bytes(bytes, false, 0, 0), again = read_bytes(bytes, false, 0, 0);
        Reading shrunk = read_bytes(bytes, true, 0, cut);
        Reading failed = read_bytes(bytes, false, -EIO, cut);
        Reading refused = read_bytes(bytes, false, -EACCES, cut);

        fuzz_expect(whole.r_heap == 0 && whole.r_thread == 0, "every file has an answer");
        fuzz_expect(memcmp(&whole.heap, &again.heap, sizeof(whole.heap)) == 0 &&
                            memcmp(&whole.thread, &again.thread, sizeof(whole.thread)) == 0,
                    "an answer is the same the second time");
        fuzz_expect(shrunk.r_heap == 0 && failed.r_heap == 0, "so has one that loses its end");
        fuzz_expect(memcmp(&shrunk.heap, &failed.heap, sizeof(shrunk.heap)) == 0,
                    "bytes that are gone are bytes that cannot be read");
        fuzz_expect(shrunk.heap.verdict == HEAP_FAILURE_FILE_UNREADABLE ||
                            memcmp(&shrunk.heap, &whole.heap, sizeof(whole.heap)) == 0,
                    "what was not read is not made up");
        fuzz_expect(refused.r_heap == -EACCES ||
                            memcmp(&refused.heap, &whole.heap, sizeof(whole.heap)) == 0,
                    "an error of ours is passed up");
}

/* made files */

static uint64_t take_even(FuzzInput *input, uint64_t max) {
        return MIN_OF((uint64_t) fuzz_take_u16(input), max) & ~(uint64_t) 7;
}

/* What the block has room for. */
static bool has_room(const MadeOptions *options) {
        uint64_t allocated = options->tsd + (options->image_allocated ? options->image_allocated
                                                                      : options->allocated);

        switch (options->image) {
        case MADE_CACHE:
                return allocated >= 8 + 24 * 16 && allocated + 24 <= options->n_block;
        case MADE_OLD:
                return options->tsd + 464 <= options->n_block;
        case MADE_STATE:
                return allocated >= 8 && allocated <= options->n_block;
        case MADE_BLANK:
        case _MADE_IMAGE_MAX:
                break;
        }
        return true;
}

static void take_options(FuzzInput *input, MadeOptions *ret) {
        static const char *const versions[] = {
                NULL,
                "5.0.1-0-g896ed3a8b3f41998d4fb4d625d30ac63ef2d51fb",
                "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756",
                "5.2.1-643-g7d2bac5a384a2fded203298939fc7eb48f8c0f4b",
        };
        static const char *const symbols[] = { NULL, "tsd_tls", "je_tsd_tls", "other" };
        uint8_t kind = fuzz_take_u8(input), more = fuzz_take_u8(input);

        *ret = (MadeOptions){
                .type = kind & 1 ? ET_EXEC : ET_DYN,
                .machine = kind & 2 ? EM_AARCH64 : EM_X86_64,
                .has_interpreter = kind & 4,
                .is_pie = kind & 8,
                .pointers = kind & 16 ? MADE_IN_PLACE : MADE_RELOCATED,
                .is_name_shared = kind & 32,
                .has_no_table = kind & 64,
                .version = versions[more & 3],
                .symbols = { symbols[more >> 2 & 3], symbols[more >> 4 & 3] },
                .code = fuzz_take_u8(input) % _MADE_CODE_MAX,
                .image = fuzz_take_u8(input) % _MADE_IMAGE_MAX,
                .n_block = take_even(input, MADE_BLOCK_BYTES_MAX),
                .tsd = take_even(input, MADE_BLOCK_BYTES_MAX / 2),
                .allocated = take_even(input, 4000),
        };
        ret->deallocated = ret->allocated + (fuzz_take_u8(input) & 0x1f);
        ret->image_allocated = kind & 128 ? take_even(input, MADE_BLOCK_BYTES_MAX / 2) : 0;
        ret->second_allocated = more & 64 ? take_even(input, 4000) : 0;
        if (ret->symbols[0])
                ret->symbol_values[0] = fuzz_take_u16(input);
        if (ret->symbols[1])
                ret->symbol_values[1] = fuzz_take_u16(input);
        ret->n_slots = more & 128 ? fuzz_take_u8(input) % (MADE_SLOTS_MAX + 1) : 0;
        for (unsigned i = 0; i < ret->n_slots; i++) {
                uint8_t slot = fuzz_take_u8(input);

                ret->slots[i] = (MadeSlot){ slot % _HEAP_SLOT_MAX, slot >> 7, fuzz_take_u16(input),
                                            slot & 64 ? fuzz_take_u16(input) : 0 };
        }
        if (!has_room(ret))
                ret->image = MADE_BLANK;
}

/* Whether some part of @options says that the struct is at @tsd. */
static bool is_claimed(const MadeOptions *options, uint64_t tsd) {
        uint64_t image = options->image_allocated ? options->image_allocated : options->allocated;
        bool is = tsd == 0 || tsd == options->tsd ||
                  (options->image == MADE_STATE && tsd == options->tsd + image - 8);

        for (unsigned i = 0; i < ELEMENTSOF(options->symbols) && options->symbols[i]; i++)
                is |= tsd == options->symbol_values[i];
        for (unsigned i = 0; i < options->n_slots; i++)
                is |= tsd == options->slots[i].addend || tsd == options->slots[i].second;
        return is;
}

static void check_made(const MadeOptions *options, const MadeElf *made) {
        HeapLayout layout = read_bytes(made_elf_span(made), false, 0, 0).heap;
        uint64_t image = options->image_allocated ? options->image_allocated : options->allocated;
        uint64_t distance = options->deallocated - options->allocated;
        bool tells = !options->has_no_table && (distance == 8 || distance == 16) &&
                     options->allocated > 0 && options->deallocated + 8 <= options->n_block &&
                     (options->code == MADE_ADD || options->code == MADE_LEA);

        if (layout.verdict != HEAP_FAILURE_NONE)
                return;
        fuzz_expect(layout.machine == options->machine &&
                            layout.is_fixed == (options->type == ET_EXEC) &&
                            layout.tls_memsz == options->n_block,
                    "a module is what it was made as");
        fuzz_expect(options->has_no_table ||
                            (options->code != MADE_REFUSAL && options->code != MADE_O0_REFUSAL),
                    "counters that are off are not read");
        if (options->image == MADE_CACHE)
                fuzz_expect(layout.allocated == options->tsd + image,
                            "counters are where the image has them");
        if (layout.tsd != HEAP_TSD_UNKNOWN) {
                fuzz_expect(is_claimed(options, layout.tsd) || options->image == MADE_CACHE,
                            "a struct is where something says");
                fuzz_expect(!tells || layout.allocated - layout.tsd == options->allocated,
                            "counters are where the code has them");
        }
        for (unsigned i = 0; i < options->n_slots; i++)
                if (layout.slot_vaddr == made_elf_vaddr(made, MADE_SLOTS_AT + i * 16))
                        fuzz_expect(layout.slot_kind == options->slots[i].kind &&
                                            options->slots[i].symbol == 0,
                                    "a slot is the module's own");
}

static void check_changed(FuzzInput input) {
        _cleanup_(freep) MadeElf *made = malloc(sizeof(*made));
        MadeOptions options;
        uint64_t cut;

        fuzz_expect(made, "there is memory for a file");
        take_options(&input, &options);
        cut = fuzz_take_u16(&input);
        made_elf_make(&options, made);
        check_made(&options, made);
        while (input.n > 0) {
                uint64_t at = fuzz_take_u16(&input) % made->n;

                made->bytes[at] = (char) fuzz_take_u8(&input);
        }
        check_file(made_elf_span(made), cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t kind = fuzz_take_u8(&input);

        if (kind == 'm') {
                check_changed(input);
        } else {
                uint64_t cut = fuzz_take_u16(&input);

                check_file(fuzz_take_rest(&input), cut);
        }
        return 0;
}
