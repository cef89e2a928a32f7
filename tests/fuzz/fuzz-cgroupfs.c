/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's texts about cgroups, chosen by the first byte: mountinfo and its escapes, io.stat,
 * the files of one cgroup as they become an object, paths that are looked up below a mount, types.
 * Every number is found again in its file, every file is counted once, and no path leads outside.
 *
 * Aims at: daemon/kernel/cgroupfs/cgroupfs.c daemon/kernel/cgroupfs/cgroup-stats.c
 *          daemon/kernel/text/pressure.c daemon/kernel/text/keyed-numbers.c
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "kernel/cgroupfs/cgroup-stats.h"
#include "cgroup-tree.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "leaf.h"
#include "oracle.h"
#include "tree.h"

/* mountinfo */

/* Both path fields of a line for a cgroup v2 mount. */
static bool find_mount(Span line, Span *ret_root, Span *ret_point) {
        size_t offset = 0;
        unsigned field = 1;
        bool behind_options = false;
        Span word;

        for (; oracle_word(line, &offset, &word); field++) {
                if (field == 4)
                        *ret_root = word;
                else if (field == 5)
                        *ret_point = word;
                else if (behind_options)
                        return span_is(word, "cgroup2");
                else if (field > 6)
                        behind_options = span_is(word, "-");
        }
        return false;
}

static unsigned octal_at(Span text, size_t at) {
        unsigned value = 0;

        for (size_t i = at; i < at + 3; i++) {
                if (i >= text.n || text.bytes[i] < '0' || text.bytes[i] > '7')
                        return 256;
                value = value * 8 + (unsigned) (text.bytes[i] - '0');
        }
        return value;
}

/* False unless it is an absolute path that fits and has no NUL. */
static bool decode(Span text, char ret[static CGROUPFS_PATH_BYTES]) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                unsigned octal = text.bytes[i] == '\\' ? octal_at(text, i + 1) : 256;

                if (n == CGROUPFS_PATH_BYTES - 1 || octal == 0 || text.bytes[i] == '\0')
                        return false;
                ret[n++] = octal < 256 ? (char) octal : text.bytes[i];
                i += octal < 256 ? 3 : 0;
        }
        ret[n] = '\0';
        return ret[0] == '/';
}

/* The @nth candidate; mounts of the whole hierarchy come first. */
static bool find_candidate(Span text, size_t nth, CgroupMount *ret) {
        for (int whole = 1; whole >= 0; whole--) {
                size_t offset = 0;
                Span line, root, point;

                while (oracle_line(text, &offset, &line))
                        if (find_mount(line, &root, &point) && decode(root, ret->root) &&
                            decode(point, ret->point) && strcmp(ret->root, "/..") != 0 &&
                            strncmp(ret->root, "/../", 4) != 0 &&
                            (strcmp(ret->root, "/") == 0) == whole && nth-- == 0)
                                return true;
        }
        return false;
}

static void check_mountinfo(FuzzInput input) {
        static CgroupMount mount, expected;
        size_t nth = fuzz_take_u8(&input) % 4;
        Span text = fuzz_take_rest(&input);
        bool found = find_candidate(text, nth, &expected);
        int r = cgroup_mount_parse(text, nth, &mount);

        fuzz_expect(r == (found ? 0 : CGROUPFS_E_NO_MOUNT), "mount %zu is found or is not", nth);
        fuzz_expect(!found || strcmp(mount.root, expected.root) == 0, "its root is %s and not %s",
                    expected.root, mount.root);
        fuzz_expect(!found || strcmp(mount.point, expected.point) == 0, "it is at %s and not %s",
                    expected.point, mount.point);
}

/* io.stat */

/* The number of words of @text that are this device, and the value of @key after one of them. */
static unsigned find_device(Span text, Span device, Span key, unsigned *ret_n_keys, Span *ret) {
        unsigned n_devices = 0;
        size_t offset = 0;
        Span line, word, left, right;

        *ret_n_keys = 0;
        while (oracle_line(text, &offset, &line)) {
                bool is_it = false, has_values = false;
                size_t at = 0;

                while (oracle_word(line, &at, &word)) {
                        if (!oracle_split(word, '=', &left, &right)) {
                                is_it = span_equal(word, device);
                                has_values = false;
                                continue;
                        }
                        if (!is_it)
                                continue;
                        n_devices += !has_values;
                        has_values = true;
                        if (span_equal(left, key)) {
                                *ret = right;
                                ++*ret_n_keys;
                        }
                }
        }
        return n_devices;
}

typedef struct IoCheck {
        Span text;
        Span device;
} IoCheck;

static bool is_ascii(Span text) {
        for (size_t i = 0; i < text.n; i++)
                if ((unsigned char) text.bytes[i] >= 128 || text.bytes[i] < ' ')
                        return false;
        return true;
}

static void check_io_value(Span key, const Leaf *leaf, void *data) {
        const IoCheck *check = data;
        unsigned n_keys;
        uint64_t number;
        Span value;

        fuzz_expect(leaf->kind == LEAF_NUMBER && !leaf->negative, "a value is a number");
        if (!is_ascii(key)) /* stands there under the escape for names */
                return;
        fuzz_expect(find_device(check->text, check->device, key, &n_keys, &value) == 1,
                    "a device is there once");
        fuzz_expect(n_keys == 1 && oracle_u64(value, &number) && number == leaf->number,
                    "a value is the text's");
}

static void check_io_device(Span device, const Leaf *leaf, void *data) {
        Span major, minor;
        uint64_t number;

        fuzz_expect(leaf->kind == LEAF_OTHER, "a device is an object");
        fuzz_expect(oracle_split(device, ':', &major, &minor) && oracle_u64(major, &number) &&
                            oracle_u64(minor, &number),
                    "a device is two numbers");
}

/* Of every word that could be a device. */
static void check_io_values(Span text, Span json) {
        IoCheck check = { .text = text };
        size_t offset = 0;
        char path[300];
        Span line;

        while (oracle_line(text, &offset, &line)) {
                size_t at = 0;

                while (oracle_word(line, &at, &check.device)) {
                        if (check.device.n > 32 || memchr(check.device.bytes, '/', check.device.n))
                                continue;
                        (void) snprintf(path, sizeof(path), "io/%.*s", (int) check.device.n,
                                        check.device.bytes);
                        leaf_each(json, path, check_io_value, &check);
                }
        }
}

static void check_io_stat(FuzzInput input) {
        Span text = fuzz_take_rest(&input), json;
        _cleanup_(buffer_done) Buffer buffer = {};
        JsonWriter writer;
        int r;

        if (memchr(text.bytes, '\0', text.n))
                return; /* the reader of files refuses a NUL */
        json_writer_init(&writer, &buffer);
        json_write_object(&writer);
        json_write_key(&writer, "io");
        r = io_stat_write_json(&writer, text);
        json_write_end(&writer);
        fuzz_expect(r == 0 || r == TEXT_E_MALFORMED, "a text is in its grammar or malformed");
        fuzz_expect(r != 0 || oracle_is_whole(text), "a cut text is malformed");
        fuzz_expect(json_writer_finish(&writer) == 0, "what is left out leaves no gap");
        json = buffer_span(&buffer);
        leaf_expect_json(json);
        leaf_each(json, "io", check_io_device, NULL);
        check_io_values(text, json);
}

/* the files of one cgroup */

// clang-format off
typedef enum FileKind { FILE_NUMBER, FILE_SIGNED, FILE_LIMIT, FILE_MAP, FILE_CPU_STAT, FILE_CPU_MAX,
                        FILE_IO, FILE_PRESSURE } FileKind;
static const struct {
        const char *name, *member;
        FileKind kind;
} files[] = {
        { "cpu.stat",            "cpu",                 FILE_CPU_STAT },
        { "cpu.max",             "cpu",                 FILE_CPU_MAX },
        { "cpu.max.burst",       "cpu/max_burst_us",    FILE_NUMBER },
        { "cpu.weight",          "cpu/weight",          FILE_NUMBER },
        { "cpu.weight.nice",     "cpu/weight_nice",     FILE_SIGNED },
        { "memory.current",      "memory/current",      FILE_NUMBER },
        { "memory.peak",         "memory/peak",         FILE_NUMBER },
        { "memory.max",          "memory/max",          FILE_LIMIT },
        { "memory.high",         "memory/high",         FILE_LIMIT },
        { "memory.low",          "memory/low",          FILE_LIMIT },
        { "memory.min",          "memory/min",          FILE_LIMIT },
        { "memory.swap.current", "memory/swap_current", FILE_NUMBER },
        { "memory.swap.max",     "memory/swap_max",     FILE_LIMIT },
        { "memory.stat",         "memory/stat",         FILE_MAP },
        { "memory.events",       "memory/events",       FILE_MAP },
        { "pids.current",        "pids/current",        FILE_NUMBER },
        { "pids.peak",           "pids/peak",           FILE_NUMBER },
        { "pids.max",            "pids/max",            FILE_LIMIT },
        { "io.stat",             "io",                  FILE_IO },
        { "cpu.pressure",        "psi/cpu",             FILE_PRESSURE },
        { "memory.pressure",     "psi/memory",          FILE_PRESSURE },
        { "io.pressure",         "psi/io",              FILE_PRESSURE },
        { "irq.pressure",        "psi/irq",             FILE_PRESSURE },
};
// clang-format on

/* The value of a one-value file. */
static Span value_of(Span text) {
        while (text.n > 0 && strchr(" \t\n", text.bytes[0]) && text.bytes[0] != '\0')
                text = (Span){ text.bytes + 1, text.n - 1 };
        while (text.n > 0 && strchr(" \t\n", text.bytes[text.n - 1]) &&
               text.bytes[text.n - 1] != '\0')
                text.n--;
        return text;
}

static void check_limit(Span json, const char *path, Span value) {
        Leaf leaf = leaf_at(json, path);
        uint64_t number = 0;
        bool has = value.n > 0 && oracle_u64(value, &number);

        if (value.n > 0 && span_is(value, "max"))
                fuzz_expect(leaf.kind == LEAF_TEXT && strcmp(leaf.text, "max") == 0,
                            "%s is not limited", path);
        else
                leaf_expect_number(json, path, has, number);
}

static void check_signed(Span json, const char *path, Span value) {
        Leaf leaf = leaf_at(json, path);
        int64_t number;
        bool has = value.n > 0 && oracle_i64(value, &number);

        fuzz_expect((leaf.kind == LEAF_NUMBER) == has, "%s is there when it is a number", path);
        fuzz_expect(
                !has || (leaf.negative == (number < 0) &&
                         leaf.number == (number < 0 ? 0 - (uint64_t) number : (uint64_t) number)),
                "%s is the file's", path);
}

static void check_map_value(Span key, const Leaf *leaf, void *data) {
        Span text = *(const Span *) data, value;
        uint64_t number;

        if (!is_ascii(key))
                return;
        fuzz_expect(oracle_flat_value(text, key, &value) == 1 && oracle_u64(value, &number),
                    "a key that came once with a number is kept");
        fuzz_expect(leaf->kind == LEAF_NUMBER && leaf->number == number, "a value is the file's");
}

static void check_cpu_stat(Span json, Span text) {
        static const char *const keys[] = { "usage_usec", "user_usec",    "system_usec",
                                            "nr_periods", "nr_throttled", "throttled_usec" };
        uint64_t number = 0;
        char path[32];
        Span value;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                bool has = oracle_flat_value(text, span_of(keys[i]), &value) == 1 &&
                           oracle_u64(value, &number);

                (void) snprintf(path, sizeof(path), "cpu/%s", keys[i]);
                leaf_expect_number(json, path, has, number);
        }
}

static void check_cpu_max(Span json, Span text) {
        Span value = value_of(text), quota = {}, period = {};
        uint64_t number = 0;
        size_t offset = 0;
        bool has;

        (void) oracle_word(value, &offset, &quota);
        has = oracle_word(value, &offset, &period) && oracle_u64(period, &number);
        check_limit(json, "cpu/max_quota_us", quota);
        leaf_expect_number(json, "cpu/max_period_us", has, number);
}

static void check_file(Span json, size_t which, Span text) {
        const char *member = files[which].member;
        uint64_t number = 0;
        bool has;

        switch (files[which].kind) {
        case FILE_NUMBER:
                has = value_of(text).n > 0 && oracle_u64(value_of(text), &number);
                leaf_expect_number(json, member, has, number);
                break;
        case FILE_SIGNED:
                check_signed(json, member, value_of(text));
                break;
        case FILE_LIMIT:
                check_limit(json, member, value_of(text));
                break;
        case FILE_MAP:
                leaf_each(json, member, check_map_value, &text);
                break;
        case FILE_CPU_STAT:
                check_cpu_stat(json, text);
                break;
        case FILE_CPU_MAX:
                check_cpu_max(json, text);
                break;
        case FILE_IO:
        case FILE_PRESSURE:
                fuzz_expect(leaf_at(json, member).kind != LEAF_MISSING, "%s is there", member);
                break;
        }
}

static void check_missing(Span json, size_t which) {
        bool is_cpu = files[which].kind == FILE_CPU_STAT || files[which].kind == FILE_CPU_MAX;

        if (is_cpu)
                check_file(json, which, (Span){ "", 0 });
        else
                fuzz_expect(leaf_at(json, files[which].member).kind == LEAF_NULL,
                            "%s is null without its file", files[which].member);
}

static uint64_t sum_of(const uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        uint64_t sum = 0;

        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                sum += counts[i];
        return sum;
}

/* A byte says which file, and a NUL ends it; the last of a file's texts counts. */
static void check_stats(FuzzInput input) {
        Span texts[ELEMENTSOF(files)] = {};
        _cleanup_(buffer_done) Buffer scratch = {}, json = {};
        uint64_t n_stats = 0, n_pressure = 0;
        CgroupCounts counts = {};
        int r;

        for (unsigned n = 0; n < 32 && input.n > 0; n++) {
                size_t which = fuzz_take_u8(&input) % ELEMENTSOF(files);

                texts[which] = fuzz_take_until(&input, '\0');
                tree_put(files[which].name, texts[which]);
        }
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                *(files[i].kind == FILE_PRESSURE ? &n_pressure : &n_stats) +=
                        texts[i].bytes != NULL;
        r = cgroup_stats_read(tree_fd(), &scratch, &json, &counts);
        fuzz_expect(r == (n_stats == 0 ? TEXT_E_VANISHED : 0),
                    "a cgroup is there when one of its files is");
        if (r != 0) {
                fuzz_expect(json.n == 0, "nothing is written of a cgroup that went");
                return;
        }
        fuzz_expect(sum_of(counts.stats) == n_stats && sum_of(counts.pressure) == n_pressure,
                    "every file is counted once");
        leaf_expect_json(buffer_span(&json));
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                if (texts[i].bytes)
                        check_file(buffer_span(&json), i, texts[i]);
                else
                        check_missing(buffer_span(&json), i);
        }
}

/* paths */

static const char *const groups[] = { "/", "/a", "/a/b", "/a/b/ x (deleted)", "/..." };

/* The same directories, and links that lead away from them. */
static void make_groups(int *ret_fd) {
        static bool done;

        *ret_fd = tree_fd();
        if (done)
                return;
        for (size_t i = 1; i < ELEMENTSOF(groups); i++)
                fuzz_expect(mkdirat(*ret_fd, groups[i] + 1, 0700) == 0, "there are directories");
        fuzz_expect(symlinkat("..", *ret_fd, "up") == 0 && symlinkat("a", *ret_fd, "alias") == 0,
                    "there are links");
        done = true;
}

static void check_path(FuzzInput input) {
        _cleanup_(cgroupfs_freep) Cgroupfs *cgroupfs = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        Span path = fuzz_take_rest(&input), parent;
        struct stat found, expected;
        size_t which = 0;
        int r, dir_fd;

        make_groups(&dir_fd);
        fuzz_expect(cgroupfs_open_directory(dir_fd, &cgroupfs) == 0, "a directory is a mount");
        r = cgroupfs_open_group(cgroupfs, path, &fd);
        while (which < ELEMENTSOF(groups) && !span_is(path, groups[which]))
                which++;
        fuzz_expect((r == 0) == (which < ELEMENTSOF(groups)), "a path is a cgroup's or is not");
        if (r == 0)
                fuzz_expect(fstat(fd, &found) == 0 &&
                                    fstatat(dir_fd, which == 0 ? "." : groups[which] + 1, &expected,
                                            0) == 0 &&
                                    found.st_ino == expected.st_ino,
                            "a path leads to its own cgroup");
        fuzz_expect(r >= 0, "a path is no reason to fail: %d", r);
        while (path.n > 0 && path.bytes[0] == '/' && cgroup_path_parent(path, &parent)) {
                fuzz_expect(parent.n < path.n && memcmp(parent.bytes, path.bytes, parent.n) == 0 &&
                                    parent.n > 0,
                            "a parent is the beginning of its child");
                path = parent;
        }
}

/* types */

/* The result of reading @text as a type; no type is long. */
static int type_code(Span text) {
        if (text.n > 64)
                return TEXT_E_TOO_LARGE;
        return memchr(text.bytes, '\0', text.n) ? TEXT_E_MALFORMED : 0;
}

static bool is_type(Span text, const char *type) {
        return type_code(text) == 0 && span_is(value_of(text), type);
}

/* The type of a cgroup and, after the first newline, that of a child. */
static void check_types(FuzzInput input) {
        Span own = fuzz_take_until(&input, '\n'), child = fuzz_take_rest(&input);
        bool threaded = false;
        int r;

        tree_put("cgroup.type", own);
        tree_put("child/cgroup.type", child);
        r = cgroup_is_threaded(tree_fd(), &threaded);
        fuzz_expect(r == type_code(own), "a type is one or is refused: %d", r);
        fuzz_expect(r != 0 || threaded ==
                                      (is_type(own, "threaded") || is_type(own, "domain threaded")),
                    "a cgroup is threaded when it says so");
        r = cgroup_has_threaded_child(tree_fd(), &threaded);
        fuzz_expect(r == type_code(child), "a child's type is one or is refused: %d", r);
        fuzz_expect(r != 0 || threaded == is_type(child, "threaded"),
                    "a child is threaded when it says so");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);

        switch (fuzz_take_u8(&input)) {
        case 'm':
                check_mountinfo(input);
                break;
        case 'i':
                check_io_stat(input);
                break;
        case 's':
                check_stats(input);
                break;
        case 'p':
                check_path(input);
                break;
        case 't':
                check_types(input);
                break;
        default:
                break;
        }
        tree_clear();
        return 0;
}
