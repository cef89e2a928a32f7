/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the host as a whole, the first byte chooses which, and what a document has of them.
 * Whatever the files say, what is written of them is read back, and every number of it stands in
 * them. Any text in its place is refused or read, and then a part differs from itself by nothing
 * and has lines that can be written.
 *
 * Aims at: daemon/kernel/procfs/host-files.c daemon/analysis/host/host-totals.c
 *          daemon/analysis/host/host-totals.c daemon/analysis/section/host-section.c
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/section/section-json.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "json/json-input.h"
#include "kernel/procfs/host-files.h"
#include "tree.h"

#define KTHREADD                                                             \
        "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 " \
        "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

#define MAX_FILES 3

static const char *const files[_HOST_PART_MAX][MAX_FILES] = {
        [HOST_PART_CPU] = { "stat", "loadavg" },
        [HOST_PART_MEMORY] = { "meminfo", "vmstat" },
        [HOST_PART_DISK] = { "diskstats" },
        [HOST_PART_NETWORK] = { "1/net/dev", "1/net/snmp", "1/net/netstat" },
};

/* Files are separated by a 0; what is behind the last is the last one's. */
static void put_files(HostPartId part, FuzzInput *input, Span texts[static MAX_FILES]) {
        for (size_t i = 0; i < MAX_FILES && files[part][i]; i++) {
                texts[i] = fuzz_take_until(input, '\0');
                tree_put(files[part][i], texts[i]);
        }
        if (part != HOST_PART_NETWORK)
                return;
        tree_put("2/stat", SPAN_LITERAL(KTHREADD));
        /* The link stays when files are removed. */
        (void) !symlinkat("../1/net", tree_fd(), "2/net");
}

static void read_part(HostPartId part, JsonWriter *writer) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {};
        Buffer text = {};

        switch (part) {
        case HOST_PART_CPU:
                host_cpu_read(tree_fd(), &text, writer, counts);
                break;
        case HOST_PART_MEMORY:
                host_memory_read(tree_fd(), &text, writer, counts);
                break;
        case HOST_PART_DISK:
                host_disk_read(tree_fd(), -EBADF, &text, writer, counts);
                break;
        case HOST_PART_NETWORK:
                fuzz_expect(host_network_read(tree_fd(), -EBADF, &text, writer, counts) ==
                                    HOST_NETWORK_THERE,
                            "the network is the host's");
                break;
        case _HOST_PART_MAX:
                break;
        }
        buffer_done(&text);
        /* Other: it is longer than any of that name. */
        fuzz_expect(counts[SOURCE_OUTCOME_ok] + counts[SOURCE_OUTCOME_malformed] +
                                            counts[SOURCE_OUTCOME_other] >
                                    0 &&
                            counts[SOURCE_OUTCOME_denied] + counts[SOURCE_OUTCOME_unsupported] == 0,
                    "every file is good, wrong, or both");
}

static bool stands_in(uint64_t number, const Span *texts) {
        char digits[NUMBER_U64_CHARS];
        size_t n = number_format_u64(number, digits);

        for (size_t i = 0; i < MAX_FILES; i++)
                if (texts[i].n > 0 && memmem(texts[i].bytes, texts[i].n, digits, n))
                        return true;
        return false;
}

static void check_numbers(const HostPart *part, const Span *texts) {
        for (size_t i = 0; i < part->n_numbers; i++)
                fuzz_expect(!part->numbers[i].count.known ||
                                    part->numbers[i].group == HOST_GROUP_LEVELS_HUNDREDTHS ||
                                    stands_in(part->numbers[i].count.n, texts),
                            "%s is the kernel's", part->numbers[i].name);
        for (size_t i = 0; i < part->n_items; i++)
                for (size_t k = 0; k < HOST_MAX_COLUMNS; k++)
                        fuzz_expect(!part->items[i].counts[k].known ||
                                            stands_in(part->items[i].counts[k].n, texts),
                                    "a number of %s is the kernel's", part->items[i].name);
}

/* A part against itself: sums did nothing, and lines can be written. */
static void check_difference(HostPartId id, const HostTotals *totals) {
        HostTotals both[HOST_SECTION_SIDES] = { *totals, *totals }, difference;
        const HostPart *part = &difference.parts[id];

        fuzz_expect(host_totals_difference(&both[0], &both[1], &difference) == 0, "memory");
        fuzz_expect(part->n_numbers == totals->parts[id].n_numbers &&
                            part->n_items == totals->parts[id].n_items,
                    "nothing is lost");
        for (size_t i = 0; i < part->n_numbers; i++)
                fuzz_expect(host_groups[part->numbers[i].group].rule == HOST_RULE_LEVEL ||
                                    part->numbers[i].count.n == 0,
                            "nothing was counted in no time");
        for (unsigned n_sides = 1; n_sides <= HOST_SECTION_SIDES; n_sides++) {
                Sections sections = { .n_sides = n_sides };
                HostLines *lines = &sections.host_lines[id];
                SectionCursor cursor = {};
                Buffer buffer = {};
                JsonWriter writer;

                fuzz_expect(host_lines_make(lines, id, both, n_sides, true, n_sides) == 0,
                            "memory");
                sections.shown[SECTION_HOST_CPU + id] = true;
                json_writer_init(&writer, &buffer);
                fuzz_expect(section_part_write(&sections, &cursor, &writer, SIZE_MAX) &&
                                    cursor.n_rows == lines->n,
                            "every line is written");
                fuzz_expect(json_writer_finish(&writer) == 0, "lines can be written");
                buffer_done(&buffer);
                free(lines->lines);
        }
        host_totals_done(&difference);
}

static void check_files(HostPartId part, FuzzInput input) {
        char complaint[HOST_COMPLAINT_BYTES] = "";
        HostTotals totals = { .user_hz = 100 };
        Span texts[MAX_FILES] = {};
        JsonWriter writer;
        Buffer buffer = {};
        int r;

        put_files(part, &input, texts);
        json_writer_init(&writer, &buffer);
        json_write_object(&writer);
        read_part(part, &writer);
        json_write_end(&writer);
        fuzz_expect(json_writer_finish(&writer) == 0, "what is left out leaves no gap");
        r = host_totals_scan(&totals, part, buffer_span(&buffer), complaint);
        fuzz_expect(r == 0, "what was written is read: %s", complaint);
        check_numbers(&totals.parts[part], texts);
        check_difference(part, &totals);
        host_totals_done(&totals);
        buffer_done(&buffer);
        tree_clear();
}

static void check_document(HostPartId part, FuzzInput input) {
        char complaint[HOST_COMPLAINT_BYTES] = "";
        _cleanup_(freep) char *copy = fuzz_copy((Span){ input.at, input.n });
        HostTotals totals = { .user_hz = 100 };
        int r;

        r = host_totals_scan(&totals, part, (Span){ copy, input.n }, complaint);
        fuzz_expect(r == 0 || (r == JSON_E_MALFORMED && complaint[0] != '\0'),
                    "a text is read, or refused with a complaint");
        if (r == 0)
                check_difference(part, &totals);
        host_totals_done(&totals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        unsigned choice = fuzz_take_u8(&input) % (2 * _HOST_PART_MAX);

        if (choice < _HOST_PART_MAX)
                check_files((HostPartId) choice, input);
        else
                check_document((HostPartId) (choice - _HOST_PART_MAX), input);
        return 0;
}
