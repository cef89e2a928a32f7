/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-context.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "kernel/procfs/kernel-cmdline.h"
#include "kernel/text/cpu-list.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"

#define FILE_BYTES (8 * 1024) /* meminfo and the first CPU of cpuinfo take about 1.5 KB each */
#define PATH_BYTES 320        /* a directory named here and a file name */
#define BOOT_ID_CHARS 32

/* A missing file is not a failure where not every kernel has it. */
typedef enum Need {
        NEED_ALWAYS,
        NEED_OPTIONAL,
} Need;

typedef struct HostReader {
        int proc_fd;
        int sys_fd;
        JsonWriter *json;
        HostContext *host;
        char buffer[FILE_BYTES];
} HostReader;

/* A whole file, trimmed; borrowed until the next one is read. Absent when @dir_fd is negative. */
static int read_file(HostReader *reader, int dir_fd, const char *name, Span *ret) {
        size_t n;
        int r;

        if (dir_fd < 0)
                return TEXT_E_ABSENT;
        r = text_file_read(dir_fd, name, reader->buffer, sizeof(reader->buffer), &n);
        if (r != 0)
                return r;
        *ret = text_trim((Span){ reader->buffer, n });
        return 0;
}

/* False without a text. */
static bool read_text(HostReader *reader, int dir_fd, const char *name, Need need, Span *ret) {
        int r = read_file(reader, dir_fd, name, ret);

        if (r != TEXT_E_ABSENT || need == NEED_ALWAYS)
                reader->host->counts[text_file_outcome(r)]++;
        return r == 0 && ret->n > 0;
}

static void write_cpu(HostReader *reader) {
        static const struct {
                Span key;
                const char *member;
        } rows[] = {
                { SPAN_LITERAL("model name"), "cpu_model" },
                { SPAN_LITERAL("vendor_id"), "cpu_vendor" },
        };
        Span values[ELEMENTSOF(rows)] = {}, key, value;
        const char *end;
        Cursor lines;
        size_t n;
        int r;

        r = text_file_read(reader->proc_fd, "cpuinfo", reader->buffer, sizeof(reader->buffer), &n);
        if (r == TEXT_E_TOO_LARGE) /* its beginning is enough */
                r = memchr(reader->buffer, '\0', n) ? TEXT_E_MALFORMED : 0;
        reader->host->counts[text_file_outcome(r)]++;
        if (r != 0)
                return;
        /* The lines of the first CPU end at a blank line. */
        end = n > 0 ? memmem(reader->buffer, n, "\n\n", 2) : NULL;
        if (end)
                n = (size_t) (end + 1 - reader->buffer);
        lines = (Span){ reader->buffer, n };
        while (cursor_colon_pair(&lines, &key, &value))
                for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                        if (values[i].n == 0 && span_equal(rows[i].key, key))
                                values[i] = value;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (values[i].n > 0)
                        json_write_member_name(reader->json, rows[i].member, values[i]);
}

static void write_memory(HostReader *reader) {
        static const Span keys[] = {
                SPAN_LITERAL("MemTotal"),
                SPAN_LITERAL("HugePages_Total"),
                SPAN_LITERAL("HugePages_Free"),
                SPAN_LITERAL("Hugepagesize"),
        };
        static const char *const members[ELEMENTSOF(keys)] = {
                "total_memory_kib",
                "hugepages_total",
                "hugepages_free",
                "hugepages_size_kib",
        };
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };
        Span key, value, number;
        Cursor lines;
        size_t n;
        int r;

        r = text_file_read(reader->proc_fd, "meminfo", reader->buffer, sizeof(reader->buffer), &n);
        if (r == 0) {
                lines = (Span){ reader->buffer, n };
                while (cursor_colon_pair(&lines, &key, &value)) {
                        (void) cursor_word(&value, &number); /* "2048 kB"; empty is no number */
                        fields_put(&fields, key, number);
                }
                if (fields.malformed)
                        r = TEXT_E_MALFORMED;
        }
        reader->host->counts[text_file_outcome(r)]++;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (fields.present >> i & 1)
                        json_write_member_u64(reader->json, members[i], values[i]);
}

static int is_tunable(const struct dirent *entry) {
        return strncmp(entry->d_name, "sched_", 6) == 0 &&
               (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
}

static int write_tunables(HostReader *reader) {
        struct dirent **entries = NULL;
        int n;

        n = scandirat(reader->proc_fd, "sys/kernel", &entries, is_tunable, alphasort);
        if (n < 0) {
                if (errno == ENOMEM)
                        return -ENOMEM;
                reader->host->counts[text_file_outcome(text_file_code(errno))]++;
                return 0;
        }
        json_write_key(reader->json, "sched_tunables");
        json_write_object(reader->json);
        for (int i = 0; i < n; i++) {
                char path[PATH_BYTES]; /* NAME_MAX is 255 */
                Span text;

                (void) snprintf(path, sizeof(path), "sys/kernel/%s", entries[i]->d_name);
                if (read_text(reader, reader->proc_fd, path, NEED_OPTIONAL, &text)) {
                        json_write_key_name(reader->json, span_of(entries[i]->d_name));
                        json_write_name(reader->json, text);
                }
                free(entries[i]);
        }
        json_write_end(reader->json);
        free(entries);
        return 0;
}

static void write_cpus(HostReader *reader) {
        unsigned long mask[CPU_LIST_MAX_WORDS], nodes[CPU_LIST_MAX_WORDS];
        HostContext *host = reader->host;
        char path[PATH_BYTES], id[NUMBER_U64_CHARS];
        bool has_governor = false;
        size_t n_cpus, n_nodes = 0;
        Span text;
        int r;

        r = read_file(reader, reader->sys_fd, "devices/system/cpu/online", &text);
        if (r == 0)
                r = cpu_list_parse(text, mask, &n_cpus);
        host->counts[text_file_outcome(r)]++;
        if (r != 0)
                return;
        host->has_online_cpus = true;
        host->online_cpus = n_cpus;
        json_write_member_u64(reader->json, "online_cpus", n_cpus);
        /* Nodes that have CPUs. A kernel without NUMA has no such file and one node. */
        r = read_file(reader, reader->sys_fd, "devices/system/node/has_cpu", &text);
        if (r == 0)
                r = cpu_list_parse(text, nodes, &n_nodes);
        if (r != TEXT_E_ABSENT)
                host->counts[text_file_outcome(r)]++;
        if (r == 0 || r == TEXT_E_ABSENT)
                json_write_member_u64(reader->json, "numa_nodes", r == 0 ? n_nodes : 1);
        for (size_t cpu = 0; cpu < CPU_LIST_MAX_CPUS; cpu++) {
                if ((mask[cpu / CPU_LIST_WORD_BITS] >> cpu % CPU_LIST_WORD_BITS & 1) == 0)
                        continue;
                (void) snprintf(path, sizeof(path),
                                "devices/system/cpu/cpu%zu/cpufreq/scaling_governor", cpu);
                if (!read_text(reader, reader->sys_fd, path, NEED_OPTIONAL, &text))
                        continue;
                if (!has_governor) {
                        json_write_key(reader->json, "cpufreq_governor");
                        json_write_object(reader->json);
                        has_governor = true;
                }
                json_write_key_name(reader->json, (Span){ id, number_format_u64(cpu, id) });
                json_write_name(reader->json, text);
        }
        if (has_governor)
                json_write_end(reader->json);
}

int host_context_read(int proc_fd, int sys_fd, const char *cgroup_v1, JsonWriter *json,
                      HostContext *ret) {
        HostReader reader = { .proc_fd = proc_fd, .sys_fd = sys_fd, .json = json, .host = ret };
        const struct {
                const char *name, *member;
                bool *has;
                uint64_t *value;
        } numbers[] = {
                { "sys/kernel/sched_schedstats", "sched_schedstats", &ret->has_schedstats,
                  &ret->schedstats },
                { "sys/kernel/task_delayacct", "task_delayacct", &ret->has_delayacct,
                  &ret->delayacct },
        };
        _cleanup_(buffer_done) Buffer redacted = {};
        struct utsname names;
        size_t n = 0;
        Span text;
        int r;

        *ret = (HostContext){};
        json_write_object(json);
        write_cpu(&reader);
        write_memory(&reader);
        if (read_text(&reader, sys_fd, "kernel/mm/transparent_hugepage/enabled", NEED_OPTIONAL,
                      &text))
                json_write_member_name(json, "thp_enabled", text);
        if (read_text(&reader, sys_fd, "kernel/mm/transparent_hugepage/defrag", NEED_OPTIONAL,
                      &text))
                json_write_member_name(json, "thp_defrag", text);
        r = write_tunables(&reader);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                r = read_file(&reader, proc_fd, numbers[i].name, &text);
                if (r == 0 && !number_parse_u64(text, numbers[i].value))
                        r = TEXT_E_MALFORMED;
                if (r != TEXT_E_ABSENT)
                        ret->counts[text_file_outcome(r)]++;
                *numbers[i].has = r == 0;
                if (r == 0)
                        json_write_member_u64(json, numbers[i].member, *numbers[i].value);
        }
        json_write_member_text(json, "cgroup_v1", cgroup_v1);
        write_cpus(&reader);

        if (read_text(&reader, proc_fd, "sys/kernel/ostype", NEED_ALWAYS, &text))
                json_write_member_name(json, "kernel_name", text);
        /* A text that does not fit is "" rather than cut. */
        if (read_text(&reader, proc_fd, "sys/kernel/osrelease", NEED_ALWAYS, &text)) {
                if (text.n < sizeof(ret->kernel_release))
                        memcpy(ret->kernel_release, text.bytes, text.n);
                json_write_member_name(json, "kernel_release", text);
        }
        /* 6.1 has no such file; uname(2) is second best, as personality(2) can change it. */
        if (read_text(&reader, proc_fd, "sys/kernel/arch", NEED_OPTIONAL, &text))
                json_write_member_name(json, "arch", text);
        else if (uname(&names) == 0)
                json_write_member_name(json, "arch", span_of(names.machine));
        if (read_text(&reader, proc_fd, "cmdline", NEED_ALWAYS, &text)) {
                ret->has_cmdline = true;
                ret->delayacct_booted = kernel_cmdline_has(text, "delayacct");
                r = kernel_cmdline_redact(text, &redacted);
                if (r < 0)
                        return r;
                json_write_member_name(json, "kernel_cmdline", buffer_span(&redacted));
                json_write_member_bool(json, "delayacct_booted", ret->delayacct_booted);
        }
        if (read_text(&reader, proc_fd, "sys/kernel/hostname", NEED_ALWAYS, &text)) {
                if (text.n < sizeof(ret->host_name))
                        memcpy(ret->host_name, text.bytes, text.n);
                json_write_member_name(json, "host_name", text);
        }
        /* "01234567-89ab-..." without its dashes; "" when it is anything else. */
        if (!read_text(&reader, proc_fd, "sys/kernel/random/boot_id", NEED_ALWAYS, &text))
                text = (Span){};
        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];

                if (c == '-')
                        continue;
                if (n == BOOT_ID_CHARS || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
                        n = 0;
                        break;
                }
                ret->boot_id[n++] = c;
        }
        ret->boot_id[n == BOOT_ID_CHARS ? n : 0] = '\0';
        if (ret->boot_id[0] != '\0')
                json_write_member_text(json, "boot_id", ret->boot_id);
        ret->user_hz = (uint32_t) sysconf(_SC_CLK_TCK);
        ret->page_size = (uint32_t) sysconf(_SC_PAGESIZE);
        json_write_member_u64(json, "user_hz", ret->user_hz);
        json_write_member_u64(json, "page_size", ret->page_size);
        json_write_end(json);
        return 0;
}
