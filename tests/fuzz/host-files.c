/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host-files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "leaf.h"
#include "oracle.h"
#include "kernel/procfs/host-context.h"
#include "kernel/procfs/sched-ext.h"
#include "kernel/text/cpu-list.h"
#include "tree.h"

#define MAX_FILES 24

static const char *const host_files[] = {
        "proc/cpuinfo",
        "proc/meminfo",
        "proc/cmdline",
        "proc/sys/kernel/sched_schedstats",
        "proc/sys/kernel/task_delayacct",
        "proc/sys/kernel/sched_rt_period_us",
        "proc/sys/kernel/sched_\"odd\"\xff",
        "proc/sys/kernel/ostype",
        "proc/sys/kernel/osrelease",
        "proc/sys/kernel/arch",
        "proc/sys/kernel/hostname",
        "proc/sys/kernel/random/boot_id",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/kernel/mm/transparent_hugepage/defrag",
        "sys/devices/system/cpu/online",
        "sys/devices/system/node/has_cpu",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
};

static const char *const sched_ext_files[] = {
        "sys/kernel/sched_ext/state",       "sys/kernel/sched_ext/switch_all",
        "sys/kernel/sched_ext/nr_rejected", "sys/kernel/sched_ext/hotplug_seq",
        "sys/kernel/sched_ext/enable_seq",  "sys/kernel/sched_ext/root/ops",
        "sys/kernel/sched_ext/root/events",
};

/* A byte says which file, and a NUL ends it; the last of a file's texts counts. */
static void put_files(FuzzInput *input, const char *const *names, size_t n_names, Span *texts) {
        for (unsigned n = 0; n < MAX_FILES && input->n > 0; n++) {
                size_t which = fuzz_take_u8(input) % n_names;

                texts[which] = fuzz_take_until(input, '\0');
                tree_put(names[which], texts[which]);
        }
}

static int open_below(const char *name) {
        int fd;

        (void) mkdirat(tree_fd(), name, 0700);
        fd = openat(tree_fd(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fuzz_expect(fd >= 0, "there is a directory %s", name);
        return fd;
}

static Span value_of(Span text) {
        while (text.n > 0 && strchr(" \t\n", text.bytes[0]))
                text = (Span){ text.bytes + 1, text.n - 1 };
        while (text.n > 0 && strchr(" \t\n", text.bytes[text.n - 1]))
                text.n--;
        return text;
}

static bool is_number_file(Span text, uint64_t *ret) {
        Span value = value_of(text);

        return value.n > 0 && oracle_u64(value, ret);
}

static void check_memory(Span json, Span text) {
        static const struct {
                const char *key, *member;
        } rows[] = {
                { "MemTotal", "total_memory_kib" },
                { "HugePages_Total", "hugepages_total" },
                { "HugePages_Free", "hugepages_free" },
                { "Hugepagesize", "hugepages_size_kib" },
        };
        uint64_t number = 0;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Span value, word;
                size_t offset = 0;
                bool has = oracle_colon_value(text, span_of(rows[i].key), &value) == 1 &&
                           oracle_word(value, &offset, &word) && oracle_u64(word, &number);

                leaf_expect_number(json, rows[i].member, has, number);
        }
}

/* A copy for the capture is all of the text, or nothing. */
static void check_copy(const char *copy, Span text) {
        Span value = value_of(text);

        fuzz_expect(span_is(value.n < HOST_TEXT_BYTES ? value : (Span){ "", 0 }, copy),
                    "a copy is whole or empty");
}

static void check_host(Span json, const Span *texts, const HostContext *host) {
        unsigned long mask[CPU_LIST_MAX_WORDS];
        uint64_t number = 0;
        size_t n_cpus = 0;
        bool has;

        leaf_expect_json(json);
        check_memory(json, texts[1]);
        has = is_number_file(texts[3], &number);
        leaf_expect_number(json, "sched_schedstats", has, number);
        fuzz_expect(host->has_schedstats == has && (!has || host->schedstats == number),
                    "the capture knows about schedstats what the snapshot says");
        has = is_number_file(texts[4], &number);
        leaf_expect_number(json, "task_delayacct", has, number);
        has = value_of(texts[14]).n > 0 && cpu_list_parse(value_of(texts[14]), mask, &n_cpus) == 0;
        leaf_expect_number(json, "online_cpus", has, n_cpus);
        check_copy(host->kernel_release, texts[8]);
        check_copy(host->host_name, texts[10]);
        fuzz_expect(strlen(host->boot_id) == 0 || (strlen(host->boot_id) == 32 &&
                                                   strspn(host->boot_id, "0123456789abcdef") == 32),
                    "a boot is 32 digits or unknown");
        fuzz_expect(host->has_cmdline == (value_of(texts[2]).n > 0) &&
                            (host->has_cmdline || !host->delayacct_booted),
                    "what is not on a command line was not found there");
}

void check_host_context(FuzzInput input) {
        _cleanup_(fd_closep) int proc_fd = open_below("proc"), sys_fd = open_below("sys");
        _cleanup_(buffer_done) Buffer buffer = {};
        Span texts[ELEMENTSOF(host_files)] = {};
        JsonWriter writer;
        HostContext host;

        put_files(&input, host_files, ELEMENTSOF(host_files), texts);
        json_writer_init(&writer, &buffer);
        fuzz_expect(host_context_read(proc_fd, sys_fd, "", &writer, &host) == 0,
                    "a host can be looked at");
        fuzz_expect(json_writer_finish(&writer) == 0, "what is left out leaves no gap");
        check_host(buffer_span(&buffer), texts, &host);
        tree_clear();
}

static void check_event(Span key, const Leaf *leaf, void *data) {
        Span text = *(const Span *) data, value;
        uint64_t number;

        for (size_t i = 0; i < key.n; i++)
                if ((unsigned char) key.bytes[i] >= 128)
                        return; /* stands there under the escape for names */
        fuzz_expect(oracle_flat_value(text, key, &value) == 1 && oracle_u64(value, &number) &&
                            leaf->kind == LEAF_NUMBER && leaf->number == number,
                    "an event is the file's");
}

void check_sched_ext(FuzzInput input) {
        static const char *const members[] = { "switch_all", "nr_rejected", "hotplug_seq",
                                               "enable_seq" };
        _cleanup_(fd_closep) int sys_fd = open_below("sys");
        _cleanup_(buffer_done) Buffer buffer = {};
        Span texts[ELEMENTSOF(sched_ext_files)] = {};
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {}, n_counted = 0, n_files = 0, number = 0;
        JsonWriter writer;

        tree_put("sys/kernel/sched_ext/root/none", (Span){ "", 0 });
        put_files(&input, sched_ext_files, ELEMENTSOF(sched_ext_files), texts);
        json_writer_init(&writer, &buffer);
        fuzz_expect(sched_ext_read(sys_fd, &writer, counts) == 0, "the class can be looked at");
        fuzz_expect(json_writer_finish(&writer) == 0, "what is left out leaves no gap");
        leaf_expect_json(buffer_span(&buffer));
        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                bool has = is_number_file(texts[1 + i], &number);

                leaf_expect_number(buffer_span(&buffer), members[i], has, number);
        }
        leaf_each(buffer_span(&buffer), "events", check_event, &texts[6]);
        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                n_counted += counts[i];
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                n_files += texts[i].bytes != NULL;
        fuzz_expect(n_counted == n_files, "every file is counted once");
        tree_clear();
}
