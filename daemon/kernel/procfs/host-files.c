/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "kernel/procfs/proc-task.h"

/*
 * Parses the words that are left of a line: numbers, at least @n_least; further ones than the part
 * has columns are of later kernels and skipped. False when a word is no number of 64 bits.
 */
static bool host_row_parse(HostPartId part, Cursor *words, unsigned n_least, HostRow *ret) {
        Span word;

        ret->n_values = 0;
        while (ret->n_values < host_parts[part].n_columns && cursor_word(words, &word)) {
                if (!number_parse_u64(word, &ret->values[ret->n_values]))
                        return false;
                ret->n_values++;
        }
        return ret->n_values >= n_least;
}

/* Counts the lines of a file. One without any good line is no file of that kind. */
typedef struct HostFile {
        size_t n_good, n_bad;
} HostFile;

static void host_file_count(const HostFile *file, int r, uint64_t *counts) {
        if (r != 0) {
                counts[text_file_outcome(r)]++;
                return;
        }
        counts[SOURCE_OUTCOME_ok] += file->n_good > 0;
        counts[SOURCE_OUTCOME_malformed] += file->n_bad > 0 || file->n_good == 0;
}

/* The whole file is in *ret, borrowed from @text until that is used again. Codes of PROCFS. */
static int host_file_read(int proc_fd, const char *name, Buffer *text, Span *ret) {
        int r;

        buffer_clear(text);
        r = text_file_read_all(proc_fd, name, text);
        *ret = buffer_span(text);
        return r == -EMSGSIZE ? PROCFS_E_TOO_LARGE : r;
}

/* "columns": [...]; the item's name first, then @more with NULL at its end, then the part's. */
static void host_columns_write(JsonWriter *json, HostPartId part, const char *const *more) {
        json_write_key(json, "columns");
        json_write_array(json);
        json_write_text(json, host_parts[part].item);
        for (; *more; more++)
                json_write_text(json, *more);
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                json_write_text(json, host_parts[part].columns[i].name);
        json_write_end(json);
}

/* The cells of a row from those of the part on, null where the kernel has none. */
static void host_row_write(JsonWriter *json, HostPartId part, const HostRow *row) {
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                if (i < row->n_values)
                        json_write_u64(json, row->values[i]);
                else
                        json_write_null(json);
}

/* GROUP: {NAME: N...} of the fields that are there, by the names they are written with. */
static void host_fields_write(JsonWriter *json, HostGroupId group, const Fields *fields,
                              const char *const *names) {
        json_write_key(json, host_groups[group].member);
        json_write_object(json);
        for (size_t i = 0; i < fields->n_keys; i++)
                if (fields->present >> i & 1)
                        json_write_member_u64(json, names[i], fields->values[i]);
        json_write_end(json);
}

#define LOAD_BYTES 128

/* /proc/stat */

bool cpu_line_parse(Span line, CpuLine *ret, bool *ret_is_cpu) {
        Cursor words = cursor_over(line);
        Span name, number;

        *ret_is_cpu =
                cursor_word(&words, &name) && name.n >= 3 && memcmp(name.bytes, "cpu", 3) == 0;
        if (!*ret_is_cpu)
                return false;
        number = (Span){ name.bytes + 3, name.n - 3 };
        *ret = (CpuLine){ .is_all = number.n == 0 };
        return (ret->is_all || number_parse_u32(number, &ret->cpu)) &&
               host_row_parse(HOST_PART_CPU, &words, HOST_CPU_LEAST_COLUMNS, &ret->row);
}

enum { CTXT, INTR, SOFTIRQ, PROCESSES, RUNNING, BLOCKED, _STAT_KEY_MAX };

typedef struct StatKeys {
        Fields fields;
        uint64_t values[_STAT_KEY_MAX];
} StatKeys;

/* The totals of intr and softirq come first in their lines, which go on with each of them. */
static void read_keys(Span text, StatKeys *ret, HostFile *file) {
        static const Span keys[_STAT_KEY_MAX] = {
                [CTXT] = SPAN_LITERAL("ctxt"),
                [INTR] = SPAN_LITERAL("intr"),
                [SOFTIRQ] = SPAN_LITERAL("softirq"),
                [PROCESSES] = SPAN_LITERAL("processes"),
                [RUNNING] = SPAN_LITERAL("procs_running"),
                [BLOCKED] = SPAN_LITERAL("procs_blocked"),
        };
        Cursor lines = cursor_over(text);
        Span key, value, first;

        *ret = (StatKeys){ .fields = { .keys = keys, .n_keys = _STAT_KEY_MAX } };
        ret->fields.values = ret->values;
        while (cursor_flat_pair(&lines, &key, &value)) {
                Cursor words = cursor_over(value);

                (void) cursor_word(&words, &first); /* empty is no number */
                file->n_good += fields_put(&ret->fields, key, first);
        }
        file->n_bad += ret->fields.malformed || !cursor_is_at_end(&lines);
}

static void write_cpus(Span text, JsonWriter *json, HostFile *file) {
        static const char *const no_more[] = { NULL };
        Cursor lines = cursor_over(text);
        uint64_t n_before = 0; /* above the number of the CPU before; all are 0 */
        bool has_all = false;
        Span line;

        host_columns_write(json, HOST_PART_CPU, no_more);
        json_write_key(json, "rows");
        json_write_array(json);
        while (cursor_line(&lines, &line)) {
                bool is_good, is_cpu;
                CpuLine cpu;

                is_good = cpu_line_parse(line, &cpu, &is_cpu);
                if (!is_cpu)
                        continue;
                is_good = is_good && (cpu.is_all ? !has_all : cpu.cpu >= n_before);
                file->n_good += is_good;
                file->n_bad += !is_good;
                if (!is_good)
                        continue;
                has_all |= cpu.is_all;
                n_before = cpu.is_all ? n_before : (uint64_t) cpu.cpu + 1;
                json_write_array(json);
                if (cpu.is_all) {
                        json_write_text(json, HOST_CPU_ALL);
                } else {
                        char digits[NUMBER_U64_CHARS];

                        json_write_span(json, (Span){ digits, number_format_u64(cpu.cpu, digits) });
                }
                host_row_write(json, HOST_PART_CPU, &cpu.row);
                json_write_end(json);
        }
        json_write_end(json);
        file->n_bad += !has_all;
}

/* /proc/loadavg */

bool load_average_parse(Span text, LoadAverage *ret) {
        Cursor lines = cursor_over(text), words;
        const char *slash;
        size_t n_left;
        Span line, word;

        if (!cursor_line(&lines, &line))
                return false;
        words = cursor_over(line);
        for (size_t i = 0; i < ELEMENTSOF(ret->load); i++)
                if (!cursor_word(&words, &word) || !text_parse_decimal(word, 2, &ret->load[i]))
                        return false;
        if (!cursor_word(&words, &word))
                return false;
        slash = memchr(word.bytes, '/', word.n);
        if (!slash)
                return false;
        n_left = (size_t) (slash - word.bytes);
        return number_parse_u64((Span){ word.bytes, n_left }, &ret->n_running) &&
               number_parse_u64((Span){ slash + 1, word.n - n_left - 1 }, &ret->n_threads);
}

static void write_if(JsonWriter *json, const StatKeys *keys, unsigned key, const char *name) {
        if (keys->fields.present >> key & 1)
                json_write_member_u64(json, name, keys->values[key]);
}

void host_cpu_read(int proc_fd, Buffer *text, JsonWriter *json,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        char load_text[LOAD_BYTES];
        HostFile file = {};
        LoadAverage load;
        StatKeys keys;
        int r, r_load;
        Span stat;
        size_t n;

        r = host_file_read(proc_fd, "stat", text, &stat);
        read_keys(stat, &keys, &file);
        json_write_key(json, host_groups[HOST_GROUP_COUNTS].member);
        json_write_object(json);
        write_if(json, &keys, CTXT, "ctxt");
        write_if(json, &keys, INTR, "intr");
        write_if(json, &keys, SOFTIRQ, "softirqs");
        write_if(json, &keys, PROCESSES, "processes");
        json_write_end(json);

        r_load = text_file_read(proc_fd, "loadavg", load_text, sizeof(load_text), &n);
        if (r_load == 0 && !load_average_parse((Span){ load_text, n }, &load))
                r_load = PROCFS_E_MALFORMED;
        counts[text_file_outcome(r_load)]++;
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        json_write_object(json);
        write_if(json, &keys, RUNNING, "procs_running");
        write_if(json, &keys, BLOCKED, "procs_blocked");
        if (r_load == 0)
                json_write_member_u64(json, "threads", load.n_threads);
        json_write_end(json);
        if (r_load == 0) {
                json_write_key(json, host_groups[HOST_GROUP_LEVELS_HUNDREDTHS].member);
                json_write_object(json);
                json_write_member_u64(json, "load1", load.load[0]);
                json_write_member_u64(json, "load5", load.load[1]);
                json_write_member_u64(json, "load15", load.load[2]);
                json_write_end(json);
        }
        write_cpus(stat, json, &file);
        host_file_count(&file, r, counts);
}

bool host_cpu_count_switches(int proc_fd, uint64_t *ret) {
        _cleanup_(buffer_done) Buffer text = {};
        HostFile file = {};
        StatKeys keys;
        Span stat;

        if (host_file_read(proc_fd, "stat", &text, &stat) != 0)
                return false;
        read_keys(stat, &keys, &file);
        *ret = keys.values[CTXT];
        return keys.fields.present >> CTXT & 1;
}

/* Returns whether a key of /proc/vmstat is one of the events. */
static bool host_memory_wants(Span vmstat_key) {
        static const Span beginnings[] = {
                SPAN_LITERAL("pg"),
                SPAN_LITERAL("pswp"),
                SPAN_LITERAL("allocstall"),
                SPAN_LITERAL("workingset_"),
                SPAN_LITERAL("compact_"),
                SPAN_LITERAL("oom_kill"),
                SPAN_LITERAL("thp_"),
                SPAN_LITERAL("kswapd_"),
                SPAN_LITERAL("pageoutrun"),
                SPAN_LITERAL("slabs_scanned"),
                SPAN_LITERAL("zone_reclaim"),
                SPAN_LITERAL("drop_"),
                SPAN_LITERAL("swap_ra"),
                SPAN_LITERAL("swpin_"),
                SPAN_LITERAL("swpout_"),
                SPAN_LITERAL("zswp"),
                SPAN_LITERAL("numa_"),
                SPAN_LITERAL("nr_dirtied"),
                SPAN_LITERAL("nr_written"),
                SPAN_LITERAL("nr_vmscan_"),
                SPAN_LITERAL("nr_throttled_written"),
        };
        static const Span levels[] = { SPAN_LITERAL("workingset_nodes") };

        for (size_t i = 0; i < ELEMENTSOF(levels); i++)
                if (span_equal(vmstat_key, levels[i]))
                        return false;
        for (size_t i = 0; i < ELEMENTSOF(beginnings); i++)
                if (vmstat_key.n >= beginnings[i].n &&
                    memcmp(vmstat_key.bytes, beginnings[i].bytes, beginnings[i].n) == 0)
                        return true;
        return false;
}

void host_memory_read(int proc_fd, Buffer *text, JsonWriter *json,
                      uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        HostFile meminfo = {}, vmstat = {};
        Span content, key, value, number, unit;
        NumberMap map, pages;
        Cursor lines;
        bool is_good;
        int r;

        /* "MemTotal:  123 kB", "HugePages_Total:  0" */
        r = host_file_read(proc_fd, "meminfo", text, &content);
        map.n_entries = pages.n_entries = 0;
        lines = cursor_over(content);
        while (cursor_colon_pair(&lines, &key, &value)) {
                Cursor words = cursor_over(value);
                bool has_unit;

                (void) cursor_word(&words, &number); /* empty is no number */
                has_unit = cursor_word(&words, &unit);
                is_good = (!has_unit || span_is(unit, "kB")) &&
                          number_map_put(has_unit ? &map : &pages, key, number);
                meminfo.n_good += is_good;
                meminfo.n_bad += !is_good;
        }
        meminfo.n_bad += !cursor_is_at_end(&lines);
        json_write_key(json, host_groups[HOST_GROUP_LEVELS_KIB].member);
        number_map_write_json(json, &map);
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        number_map_write_json(json, &pages);
        host_file_count(&meminfo, r, counts);

        r = host_file_read(proc_fd, "vmstat", text, &content);
        map.n_entries = 0;
        lines = cursor_over(content);
        while (cursor_flat_pair(&lines, &key, &value)) {
                if (!host_memory_wants(key))
                        continue;
                is_good = number_map_put(&map, key, value);
                vmstat.n_good += is_good;
                vmstat.n_bad += !is_good;
        }
        vmstat.n_bad += !cursor_is_at_end(&lines);
        json_write_key(json, host_groups[HOST_GROUP_COUNTS].member);
        number_map_write_json(json, &map);
        host_file_count(&vmstat, r, counts);
}

#define NAME_BYTES 64 /* DISK_NAME_LEN is 32, IFNAMSIZ 16; also a prefix and a name of snmp */

#define HOST_DISK_LEAST_COLUMNS 11 /* discards came with 4.18, flushes with 5.5 */

typedef struct DiskLine {
        uint32_t major, minor;
        Span name;
        HostRow row;
} DiskLine;

/* " 254       0 vda 1 2 3 ..." */
static bool disk_line_parse(Span line, DiskLine *ret) {
        Cursor words = cursor_over(line);
        Span major, minor;

        return cursor_word(&words, &major) && cursor_word(&words, &minor) &&
               cursor_word(&words, &ret->name) && number_parse_u32(major, &ret->major) &&
               number_parse_u32(minor, &ret->minor) &&
               host_row_parse(HOST_PART_DISK, &words, HOST_DISK_LEAST_COLUMNS, &ret->row);
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Takes the digits at the beginning of @text off; false when there are none. */
static bool take_number(Span *text) {
        size_t n = 0;

        while (n < text->n && is_digit(text->bytes[n]))
                n++;
        *text = (Span){ text->bytes + n, text->n - n };
        return n > 0;
}

static bool take(Span *text, Span beginning) {
        if (text->n < beginning.n || memcmp(text->bytes, beginning.bytes, beginning.n) != 0)
                return false;
        *text = (Span){ text->bytes + beginning.n, text->n - beginning.n };
        return true;
}

bool disk_is_partition_of(Span name, Span disk) {
        Span rest = name;

        if (disk.n == 0 || !take(&rest, disk))
                return false;
        if (is_digit(disk.bytes[disk.n - 1]) && !take(&rest, SPAN_LITERAL("p")))
                return false;
        return take_number(&rest) && rest.n == 0;
}

/* "nvme0n1" is the head of the paths "nvme0c0n1", "nvme0c1n1" that other lines are of. */
static bool has_paths(Span name, Span text) {
        Cursor lines = cursor_over(text);
        Span subsystem = name, rest, line;
        DiskLine disk;

        if (!take(&subsystem, SPAN_LITERAL("nvme")) || !take_number(&subsystem))
                return false;
        rest = subsystem; /* "n1" */
        subsystem = (Span){ name.bytes, name.n - rest.n };
        if (rest.n == 0 || rest.bytes[0] != 'n')
                return false;
        while (cursor_line(&lines, &line)) {
                if (!disk_line_parse(line, &disk))
                        continue;
                if (take(&disk.name, subsystem) && take(&disk.name, SPAN_LITERAL("c")) &&
                    take_number(&disk.name) && span_equal(disk.name, rest))
                        return true;
        }
        return false;
}

/* /sys */

/* /sys writes the slashes in the name of a disk ("cciss/c0d0") as exclamation marks. */
static bool has_slaves(Span name, int block_fd) {
        char path[NAME_BYTES + sizeof("/slaves")];
        _cleanup_(listing_closep) DIR *dir = NULL;
        const struct dirent *entry;

        if (block_fd < 0 || name.n >= NAME_BYTES || name.bytes[0] == '.')
                return false;
        (void) snprintf(path, sizeof(path), "%.*s/slaves", (int) name.n, name.bytes);
        for (size_t i = 0; i < name.n; i++)
                if (path[i] == '/')
                        path[i] = '!';
        if (text_file_open_listing(block_fd, path, &dir) != 0)
                return false;
        do
                entry = readdir(dir);
        while (entry && entry->d_name[0] == '.');
        return entry;
}

HostKind disk_find_kind(Span name, Span text, int block_fd) {
        /* Drivers whose disks are never the storage itself. */
        static const struct {
                Span beginning;
                HostKind kind;
        } rows[] = {
                { SPAN_LITERAL("loop"), HOST_KIND_LOOP },
                { SPAN_LITERAL("ram"), HOST_KIND_MEMORY },
                { SPAN_LITERAL("zram"), HOST_KIND_MEMORY },
                { SPAN_LITERAL("dm-"), HOST_KIND_STACKED },
                { SPAN_LITERAL("md"), HOST_KIND_STACKED },
                { SPAN_LITERAL("bcache"), HOST_KIND_STACKED },
                { SPAN_LITERAL("drbd"), HOST_KIND_STACKED },
                { SPAN_LITERAL("zd"), HOST_KIND_STACKED },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Span rest = name;

                /* An array of md may have a name: "md_home". */
                if (take(&rest, rows[i].beginning) && rest.n > 0 &&
                    (is_digit(rest.bytes[0]) || rest.bytes[0] == '_'))
                        return rows[i].kind;
        }
        return has_slaves(name, block_fd) || has_paths(name, text) ? HOST_KIND_STACKED
                                                                   : HOST_KIND_DISK;
}

void host_disk_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                    uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        static const char *const more[] = { "kind", "major", "minor", NULL };
        _cleanup_(fd_closep) int block_fd = -EBADF;
        Span content, line, whole = {};
        HostFile file = {};
        DiskLine disk;
        Cursor lines;
        int r;

        r = host_file_read(proc_fd, "diskstats", text, &content);
        if (sys_fd >= 0 && text_file_open_directory(sys_fd, "class/block", &block_fd) != 0)
                block_fd = -EBADF; /* kinds follow from names alone */
        host_columns_write(json, HOST_PART_DISK, more);
        json_write_key(json, "rows");
        json_write_array(json);
        lines = cursor_over(content);
        while (cursor_line(&lines, &line)) {
                HostKind kind = HOST_KIND_PARTITION;

                if (!disk_line_parse(line, &disk)) {
                        file.n_bad++;
                        continue;
                }
                file.n_good++;
                /* The partitions of a disk follow it. */
                if (!disk_is_partition_of(disk.name, whole)) {
                        whole = disk.name;
                        kind = disk_find_kind(disk.name, content, block_fd);
                }
                json_write_array(json);
                json_write_name(json, disk.name);
                json_write_text(json, host_kinds[kind].name);
                json_write_u64(json, disk.major);
                json_write_u64(json, disk.minor);
                host_row_write(json, HOST_PART_DISK, &disk.row);
                json_write_end(json);
        }
        file.n_bad += !cursor_is_at_end(&lines);
        file.n_good += content.n == 0; /* a host without disks */
        json_write_end(json);
        host_file_count(&file, r, counts);
}

#define PATH_BYTES 64
#define LINK_BYTES 256
#define STAT_BYTES 1024

/* From 6.18 on (NET_NS_INIT_INO, include/uapi/linux/nsfs.h) the initial one has this number. */
#define INITIAL_NAMESPACE "net:[4026531833]"

/* the network */

/* Finds whose files tell of the host's network: *ret_whose is "1" or "self". */
static HostNetworkLack find_network(int proc_fd, const char **ret_whose, bool *ret_is_own) {
        char text[STAT_BYTES], target[sizeof(INITIAL_NAMESPACE)];
        struct stat first, kernel, own;
        ProcStat stat;
        ssize_t n_target;
        size_t n;

        if (text_file_read(proc_fd, "2/stat", text, sizeof(text), &n) != 0 ||
            proc_stat_parse((Span){ text, n }, &stat) != 0 || !proc_stat_is_kthread(&stat))
                return HOST_NETWORK_FOREIGN_PIDS;
        if (fstatat(proc_fd, "1/net/dev", &first, 0) == 0 &&
            fstatat(proc_fd, "2/net/dev", &kernel, 0) == 0) {
                *ret_whose = "1";
                *ret_is_own = fstatat(proc_fd, "self/net/dev", &own, 0) == 0 &&
                              first.st_dev == own.st_dev && first.st_ino == own.st_ino;
                return first.st_dev == kernel.st_dev && first.st_ino == kernel.st_ino
                               ? HOST_NETWORK_THERE
                               : HOST_NETWORK_OTHER_NAMESPACE;
        }
        if (errno != EACCES && errno != EPERM)
                return HOST_NETWORK_NO_FILES;
        *ret_whose = "self";
        *ret_is_own = true;
        n_target = readlinkat(proc_fd, "self/ns/net", target, sizeof(target));
        return n_target > 0 && span_is((Span){ target, (size_t) n_target }, INITIAL_NAMESPACE)
                       ? HOST_NETWORK_THERE
                       : HOST_NETWORK_DENIED;
}

static bool has(int net_fd, Span name, const char *file) {
        char path[PATH_BYTES + NAME_BYTES];

        (void) snprintf(path, sizeof(path), "%.*s%s", (int) name.n, name.bytes, file);
        return faccessat(net_fd, path, F_OK, 0) == 0;
}

static HostKind find_kind(int net_fd, Span name) {
        char path[PATH_BYTES + NAME_BYTES], target[LINK_BYTES];
        const char *slash;
        ssize_t n;

        if (span_is(name, "lo"))
                return HOST_KIND_LOOPBACK;
        if (net_fd < 0 || name.n >= NAME_BYTES || name.bytes[0] == '.' || !has(net_fd, name, ""))
                return HOST_KIND_UNKNOWN;
        if (!has(net_fd, name, "/device"))
                return HOST_KIND_VIRTUAL;
        /* The device above it (a bond, or the one of a virtual function) may be one itself. */
        (void) snprintf(path, sizeof(path), "%.*s/master", (int) name.n, name.bytes);
        n = readlinkat(net_fd, path, target, sizeof(target));
        if (n <= 0 || (size_t) n == sizeof(target))
                return HOST_KIND_DEVICE;
        slash = memrchr(target, '/', (size_t) n);
        if (!slash || (size_t) (target + n - slash - 1) >= NAME_BYTES)
                return HOST_KIND_DEVICE;
        return has(net_fd, (Span){ slash + 1, (size_t) (target + n - slash - 1) }, "/device")
                       ? HOST_KIND_LOWER
                       : HOST_KIND_DEVICE;
}

bool network_pairs_parse(Span text, Fields *fields) {
        Span prefix, names, again, values, name, value;
        Cursor lines = cursor_over(text);
        bool is_good = true;

        while (cursor_colon_pair(&lines, &prefix, &names)) {
                Cursor left = cursor_over(names), right;

                if (!cursor_colon_pair(&lines, &again, &values) || !span_equal(prefix, again)) {
                        is_good = false;
                        continue;
                }
                right = cursor_over(values);
                while (cursor_word(&left, &name)) {
                        char key[2 * NAME_BYTES];

                        if (!cursor_word(&right, &value) || prefix.n + name.n > sizeof(key)) {
                                is_good = false;
                                break;
                        }
                        memcpy(key, prefix.bytes, prefix.n);
                        memcpy(key + prefix.n, name.bytes, name.n);
                        (void) fields_put(fields, (Span){ key, prefix.n + name.n }, value);
                }
                is_good = !cursor_word(&right, &value) && is_good;
        }
        return is_good && cursor_is_at_end(&lines) && !fields->malformed;
}

// clang-format off
#define NETWORK_COUNTS(C)                                                                          \
        C(TcpActiveOpens) C(TcpPassiveOpens) C(TcpAttemptFails) C(TcpEstabResets) C(TcpInSegs)     \
        C(TcpOutSegs) C(TcpRetransSegs) C(TcpInErrs) C(TcpOutRsts)                                 \
        C(UdpInDatagrams) C(UdpNoPorts) C(UdpInErrors) C(UdpOutDatagrams) C(UdpRcvbufErrors)       \
        C(UdpSndbufErrors)                                                                         \
        C(TcpExtListenOverflows) C(TcpExtListenDrops) C(TcpExtTCPBacklogDrop)                      \
        C(TcpExtTCPReqQFullDrop) C(TcpExtTCPReqQFullDoCookies) C(TcpExtSyncookiesSent)             \
        C(TcpExtTCPTimeouts) C(TcpExtTCPSynRetrans) C(TcpExtTCPLostRetransmit)                     \
        C(TcpExtTCPFastRetrans) C(TcpExtTCPMemoryPressures) C(TcpExtTCPAbortOnMemory)              \
        C(TcpExtPruneCalled) C(TcpExtTCPRcvQDrop) C(TcpExtTCPOFODrop) C(TcpExtTCPZeroWindowDrop)
#define NETWORK_LEVELS(L) L(TcpCurrEstab)
// clang-format on

#define KEY(name) SPAN_LITERAL(#name),
#define NAME(name) #name,
#define ONE(name) +1
static const Span keys[] = { NETWORK_COUNTS(KEY) NETWORK_LEVELS(KEY) };
static const char *const key_names[] = { NETWORK_COUNTS(NAME) NETWORK_LEVELS(NAME) };
enum { N_COUNTS = NETWORK_COUNTS(ONE) };
_Static_assert(ELEMENTSOF(keys) <= FIELDS_MAX, "a field is a bit");

HostNetworkLack host_network_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                                  uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        static const char *const more[] = { "kind", NULL }, *const protocols[] = { "snmp",
                                                                                   "netstat" };
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values }, part;
        _cleanup_(fd_closep) int net_fd = -EBADF;
        Span content, name, numbers;
        HostNetworkLack lack;
        char path[PATH_BYTES];
        HostFile file = {};
        const char *whose;
        bool is_own;
        Cursor lines;
        int r;

        lack = find_network(proc_fd, &whose, &is_own);
        if (lack != HOST_NETWORK_THERE) {
                counts[lack == HOST_NETWORK_DENIED ? SOURCE_OUTCOME_denied
                                                   : SOURCE_OUTCOME_unsupported]++;
                return lack;
        }
        for (size_t i = 0; i < ELEMENTSOF(protocols); i++) {
                HostFile pairs = {};

                (void) snprintf(path, sizeof(path), "%s/net/%s", whose, protocols[i]);
                r = host_file_read(proc_fd, path, text, &content);
                pairs.n_bad += !network_pairs_parse(content, &fields);
                pairs.n_good += content.n > 0;
                host_file_count(&pairs, r, counts);
                fields.malformed = false; /* of the next file alone */
        }
        part = fields;
        part.n_keys = N_COUNTS;
        host_fields_write(json, HOST_GROUP_COUNTS, &part, key_names);
        part = (Fields){ .n_keys = fields.n_keys - N_COUNTS,
                         .values = values + N_COUNTS,
                         .present = fields.present >> N_COUNTS };
        host_fields_write(json, HOST_GROUP_LEVELS, &part, key_names + N_COUNTS);
        /*
         * /sys shows the interfaces of the namespace that it was mounted in. Ours is only right
         * while we share the host's; else that of process 1 is, which takes CAP_SYS_PTRACE.
         */
        if (is_own ? sys_fd < 0 || text_file_open_directory(sys_fd, "class/net", &net_fd) != 0
                   : text_file_open_directory(proc_fd, "1/root/sys/class/net", &net_fd) != 0)
                net_fd = -EBADF;
        (void) snprintf(path, sizeof(path), "%s/net/dev", whose);
        r = host_file_read(proc_fd, path, text, &content);
        host_columns_write(json, HOST_PART_NETWORK, more);
        json_write_key(json, "rows");
        json_write_array(json);
        lines = cursor_over(content);
        /* Both lines of the heading are without a colon. */
        while (cursor_colon_pair(&lines, &name, &numbers)) {
                Cursor words = cursor_over(numbers);
                HostKind kind;
                HostRow row;

                if (name.n == 0 || !host_row_parse(HOST_PART_NETWORK, &words,
                                                   host_parts[HOST_PART_NETWORK].n_columns, &row)) {
                        file.n_bad++;
                        continue;
                }
                file.n_good++;
                kind = find_kind(net_fd, name);
                json_write_array(json);
                json_write_name(json, name);
                if (kind != HOST_KIND_UNKNOWN)
                        json_write_text(json, host_kinds[kind].name);
                else
                        json_write_null(json);
                host_row_write(json, HOST_PART_NETWORK, &row);
                json_write_end(json);
        }
        json_write_end(json);
        file.n_bad += !cursor_is_at_end(&lines);
        host_file_count(&file, r, counts);
        return lack;
}
