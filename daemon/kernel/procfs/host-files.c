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

/* The numbers of an item; the first @n_values are there. */
typedef struct HostRow {
        unsigned n_values;
        uint64_t values[HOST_MAX_COLUMNS];
} HostRow;

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
        return r;
}

/*
 * "columns": [...], "rows": [; the item's name first, then @more with NULL at its end, then the
 * part's.
 */
static void host_columns_write(JsonWriter *json, HostPartId part, const char *const *more) {
        json_write_key(json, "columns");
        json_write_array(json);
        json_write_text(json, host_parts[part].item);
        for (; *more; more++)
                json_write_text(json, *more);
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                json_write_text(json, host_parts[part].columns[i].name);
        json_write_end(json);
        json_write_key(json, "rows");
        json_write_array(json);
}

/* The cells of a row from those of the part on, null where the kernel has none. */
static void host_row_write(JsonWriter *json, HostPartId part, const HostRow *row) {
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                if (i < row->n_values)
                        json_write_u64(json, row->values[i]);
                else
                        json_write_null(json);
}

/* "NAME": N of the fields from @begin to @end that are there, by the names to be written. */
static void host_fields_write(JsonWriter *json, const Fields *fields, size_t begin, size_t end,
                              const char *const *names) {
        for (size_t i = begin; i < end; i++)
                if (fields->present >> i & 1)
                        json_write_member_u64(json, names[i], fields->values[i]);
}

#define LOAD_BYTES 128
#define HOST_CPU_LEAST_COLUMNS 4 /* user, nice, system, idle: all that there ever was at first */

/* /proc/stat */

enum {
        CTXT,
        INTR,
        SOFTIRQ,
        PROCESSES,
        N_STAT_COUNTS,
        RUNNING = N_STAT_COUNTS,
        BLOCKED,
        _STAT_KEY_MAX
};

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
        Span key, value, first;

        *ret = (StatKeys){ .fields = { .keys = keys, .n_keys = _STAT_KEY_MAX } };
        ret->fields.values = ret->values;
        while (cursor_flat_pair(&text, &key, &value)) {
                (void) cursor_word(&value, &first); /* empty is no number */
                file->n_good += fields_put(&ret->fields, key, first);
        }
        file->n_bad += ret->fields.malformed || text.n > 0;
}

/* "cpu  1 2 3 4 ...", "cpu7 1 2 3 4 ..." */
static void write_cpus(Span text, JsonWriter *json, HostFile *file) {
        static const char *const no_more[] = { NULL };
        uint64_t n_before = 0; /* above the number of the CPU before; all are 0 */
        bool has_all = false;
        Span line, name;

        host_columns_write(json, HOST_PART_CPU, no_more);
        while (cursor_line(&text, &line)) {
                char digits[NUMBER_U64_CHARS];
                bool is_all, is_good;
                uint32_t cpu = 0;
                HostRow row;

                if (!cursor_word(&line, &name) || name.n < 3 || memcmp(name.bytes, "cpu", 3) != 0)
                        continue;
                is_all = name.n == 3;
                is_good = (is_all ? !has_all
                                  : number_parse_u32((Span){ name.bytes + 3, name.n - 3 }, &cpu) &&
                                            cpu >= n_before) &&
                          host_row_parse(HOST_PART_CPU, &line, HOST_CPU_LEAST_COLUMNS, &row);
                file->n_good += is_good;
                file->n_bad += !is_good;
                if (!is_good)
                        continue;
                has_all |= is_all;
                n_before = is_all ? n_before : (uint64_t) cpu + 1;
                json_write_array(json);
                if (is_all)
                        json_write_text(json, HOST_CPU_ALL);
                else
                        json_write_span(json, (Span){ digits, number_format_u64(cpu, digits) });
                host_row_write(json, HOST_PART_CPU, &row);
                json_write_end(json);
        }
        json_write_end(json);
        file->n_bad += !has_all;
}

void host_cpu_read(int proc_fd, Buffer *text, JsonWriter *json,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        static const char *const names[_STAT_KEY_MAX] = {
                "ctxt", "intr", "softirqs", "processes", "procs_running", "procs_blocked",
        };
        char load_text[LOAD_BYTES];
        HostFile file = {};
        uint64_t loads[3], n_running, n_threads;
        Span stat, rest, line, word;
        const char *slash = NULL;
        StatKeys keys;
        int r, r_load;
        size_t n, i;

        r = host_file_read(proc_fd, "stat", text, &stat);
        read_keys(stat, &keys, &file);
        json_write_key(json, host_groups[HOST_GROUP_COUNTS].member);
        json_write_object(json);
        host_fields_write(json, &keys.fields, 0, N_STAT_COUNTS, names);
        json_write_end(json);

        r_load = text_file_read(proc_fd, "loadavg", load_text, sizeof(load_text), &n);
        if (r_load == 0) {
                /* "0.20 0.18 0.12 1/80 11206": runnable now, and all threads */
                rest = (Span){ load_text, n };
                if (!cursor_line(&rest, &line))
                        line = (Span){};
                for (i = 0; i < ELEMENTSOF(loads); i++)
                        if (!cursor_word(&line, &word) || !text_parse_decimal(word, 2, &loads[i]))
                                break;
                if (i == ELEMENTSOF(loads) && cursor_word(&line, &word))
                        slash = memchr(word.bytes, '/', word.n);
                n = slash ? (size_t) (slash - word.bytes) : 0;
                if (!slash || !number_parse_u64((Span){ word.bytes, n }, &n_running) ||
                    !number_parse_u64((Span){ slash + 1, word.n - n - 1 }, &n_threads))
                        r_load = TEXT_E_MALFORMED;
        }
        counts[text_file_outcome(r_load)]++;
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        json_write_object(json);
        host_fields_write(json, &keys.fields, N_STAT_COUNTS, _STAT_KEY_MAX, names);
        if (r_load == 0)
                json_write_member_u64(json, "threads", n_threads);
        json_write_end(json);
        if (r_load == 0) {
                json_write_key(json, host_groups[HOST_GROUP_LEVELS_HUNDREDTHS].member);
                json_write_object(json);
                json_write_member_u64(json, "load1", loads[0]);
                json_write_member_u64(json, "load5", loads[1]);
                json_write_member_u64(json, "load15", loads[2]);
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

        if (span_is(vmstat_key, "workingset_nodes")) /* a level */
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
        bool is_good;
        int r;

        /* "MemTotal:  123 kB", "HugePages_Total:  0" */
        r = host_file_read(proc_fd, "meminfo", text, &content);
        map.n_entries = pages.n_entries = 0;
        while (cursor_colon_pair(&content, &key, &value)) {
                bool has_unit;

                (void) cursor_word(&value, &number); /* empty is no number */
                has_unit = cursor_word(&value, &unit);
                is_good = (!has_unit || span_is(unit, "kB")) &&
                          number_map_put(has_unit ? &map : &pages, key, number);
                meminfo.n_good += is_good;
                meminfo.n_bad += !is_good;
        }
        meminfo.n_bad += content.n > 0;
        json_write_key(json, host_groups[HOST_GROUP_LEVELS_KIB].member);
        number_map_write_json(json, &map);
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        number_map_write_json(json, &pages);
        host_file_count(&meminfo, r, counts);

        r = host_file_read(proc_fd, "vmstat", text, &content);
        map.n_entries = 0;
        while (cursor_flat_pair(&content, &key, &value)) {
                if (!host_memory_wants(key))
                        continue;
                is_good = number_map_put(&map, key, value);
                vmstat.n_good += is_good;
                vmstat.n_bad += !is_good;
        }
        vmstat.n_bad += content.n > 0;
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
        Span major, minor;

        return cursor_word(&line, &major) && cursor_word(&line, &minor) &&
               cursor_word(&line, &ret->name) && number_parse_u32(major, &ret->major) &&
               number_parse_u32(minor, &ret->minor) &&
               host_row_parse(HOST_PART_DISK, &line, HOST_DISK_LEAST_COLUMNS, &ret->row);
}

/* Takes the digits at the beginning of @text off; false when there are none. */
static bool take_number(Span *text) {
        size_t n = 0;

        while (n < text->n && text->bytes[n] >= '0' && text->bytes[n] <= '9')
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
        char path[NAME_BYTES + sizeof("/slaves")];
        _cleanup_(listing_closep) DIR *dir = NULL;
        const struct dirent *entry;
        Span rest, line;
        DiskLine disk;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                rest = name;
                /* An array of md may have a name: "md_home". */
                if (take(&rest, rows[i].beginning) &&
                    (take_number(&rest) || (rest.n > 0 && rest.bytes[0] == '_')))
                        return rows[i].kind;
        }
        /* /sys writes the slashes in the name of a disk ("cciss/c0d0") as exclamation marks. */
        if (block_fd >= 0 && name.n < NAME_BYTES && name.bytes[0] != '.') {
                (void) snprintf(path, sizeof(path), "%.*s/slaves", (int) name.n, name.bytes);
                for (size_t i = 0; i < name.n; i++)
                        if (path[i] == '/')
                                path[i] = '!';
                if (text_file_open_listing(block_fd, path, &dir) == 0)
                        while ((entry = readdir(dir)))
                                if (entry->d_name[0] != '.')
                                        return HOST_KIND_STACKED;
        }
        /* "nvme0n1" is the head of the paths "nvme0c0n1", "nvme0c1n1" that other lines are of. */
        rest = name;
        if (!take(&rest, SPAN_LITERAL("nvme")) || !take_number(&rest) || rest.n == 0 ||
            rest.bytes[0] != 'n')
                return HOST_KIND_DISK;
        while (cursor_line(&text, &line))
                if (disk_line_parse(line, &disk) &&
                    take(&disk.name, (Span){ name.bytes, name.n - rest.n }) &&
                    take(&disk.name, SPAN_LITERAL("c")) && take_number(&disk.name) &&
                    span_equal(disk.name, rest))
                        return HOST_KIND_STACKED;
        return HOST_KIND_DISK;
}

void host_disk_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                    uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        static const char *const more[] = { "kind", "major", "minor", NULL };
        _cleanup_(fd_closep) int block_fd = -EBADF;
        Span content, lines, line, whole = {};
        HostFile file = {};
        DiskLine disk;
        int r;

        r = host_file_read(proc_fd, "diskstats", text, &content);
        if (sys_fd >= 0) /* else, and on failure, kinds follow from names alone */
                block_fd = openat(sys_fd, "class/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        host_columns_write(json, HOST_PART_DISK, more);
        lines = content;
        while (cursor_line(&lines, &line)) {
                HostKind kind = HOST_KIND_PARTITION;
                char last = whole.n > 0 ? whole.bytes[whole.n - 1] : '\0';
                Span rest;

                if (!disk_line_parse(line, &disk)) {
                        file.n_bad++;
                        continue;
                }
                file.n_good++;
                /*
                 * The partitions of a disk follow it, and are named after it: "sda1" of "sda",
                 * "nvme0n1p1" of "nvme0n1", whose name ends in a digit.
                 */
                rest = disk.name;
                if (whole.n == 0 || !take(&rest, whole) ||
                    (last >= '0' && last <= '9' && !take(&rest, SPAN_LITERAL("p"))) ||
                    !take_number(&rest) || rest.n > 0) {
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
        file.n_bad += lines.n > 0;
        file.n_good += content.n == 0; /* a host without disks */
        json_write_end(json);
        host_file_count(&file, r, counts);
}

#define PATH_BYTES 64
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
            proc_stat_parse((Span){ text, n }, &stat) != 0 || !(stat.flags & PROC_STAT_PF_KTHREAD))
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

static HostKind find_kind(int net_fd, Span name) {
        static const struct {
                const char *file;
                HostKind without;
        } rows[] = {
                { "", HOST_KIND_UNKNOWN },
                { "/device", HOST_KIND_VIRTUAL },
                /*
                 * The interface above this one (a bond, or the one above a virtual function) may
                 * itself be a device.
                 */
                { "/master/device", HOST_KIND_DEVICE },
        };
        char path[PATH_BYTES + NAME_BYTES];

        if (span_is(name, "lo"))
                return HOST_KIND_LOOPBACK;
        if (net_fd < 0 || name.n >= NAME_BYTES || name.bytes[0] == '.')
                return HOST_KIND_UNKNOWN;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                (void) snprintf(path, sizeof(path), "%.*s%s", (int) name.n, name.bytes,
                                rows[i].file);
                if (faccessat(net_fd, path, F_OK, 0) != 0)
                        return rows[i].without;
        }
        return HOST_KIND_LOWER;
}

bool network_pairs_parse(Span text, Fields *fields) {
        Span prefix, names, again, values, name, value;
        bool is_good = true;

        while (cursor_colon_pair(&text, &prefix, &names)) {
                if (!cursor_colon_pair(&text, &again, &values) || !span_equal(prefix, again)) {
                        is_good = false;
                        continue;
                }
                while (cursor_word(&names, &name)) {
                        char key[2 * NAME_BYTES];

                        if (!cursor_word(&values, &value) || prefix.n + name.n > sizeof(key)) {
                                is_good = false;
                                break;
                        }
                        memcpy(key, prefix.bytes, prefix.n);
                        memcpy(key + prefix.n, name.bytes, name.n);
                        (void) fields_put(fields, (Span){ key, prefix.n + name.n }, value);
                }
                is_good = !cursor_word(&values, &value) && is_good;
        }
        return is_good && text.n == 0 && !fields->malformed;
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
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };
        _cleanup_(fd_closep) int net_fd = -EBADF;
        Span content, name, numbers;
        HostNetworkLack lack;
        char path[PATH_BYTES];
        HostFile file = {};
        const char *whose;
        bool is_own;
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
        json_write_key(json, host_groups[HOST_GROUP_COUNTS].member);
        json_write_object(json);
        host_fields_write(json, &fields, 0, N_COUNTS, key_names);
        json_write_end(json);
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        json_write_object(json);
        host_fields_write(json, &fields, N_COUNTS, fields.n_keys, key_names);
        json_write_end(json);
        /*
         * /sys shows the interfaces of the namespace that it was mounted in. Ours is only right
         * while we share the host's; else that of process 1 is, which takes CAP_SYS_PTRACE.
         */
        if (!is_own || sys_fd >= 0)
                net_fd = openat(is_own ? sys_fd : proc_fd,
                                is_own ? "class/net" : "1/root/sys/class/net",
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void) snprintf(path, sizeof(path), "%s/net/dev", whose);
        r = host_file_read(proc_fd, path, text, &content);
        host_columns_write(json, HOST_PART_NETWORK, more);
        /* Both lines of the heading are without a colon. */
        while (cursor_colon_pair(&content, &name, &numbers)) {
                HostKind kind;
                HostRow row;

                if (name.n == 0 || !host_row_parse(HOST_PART_NETWORK, &numbers,
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
        file.n_bad += content.n > 0;
        host_file_count(&file, r, counts);
        return lack;
}
