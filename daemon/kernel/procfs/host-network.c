/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/procfs/proc-task.h"

#define PATH_BYTES 64
#define LINK_BYTES 256
#define NAME_BYTES 64 /* IFNAMSIZ is 16; a prefix and a name of snmp */
#define STAT_BYTES 1024

/* From 6.18 on (NET_NS_INIT_INO, include/uapi/linux/nsfs.h) the initial one has this number. */
#define INITIAL_NAMESPACE "net:[4026531833]"

/* whose network it is */

static bool is_kernel_thread(int proc_fd, const char *path) {
        char text[STAT_BYTES];
        ProcStat stat;
        size_t n;

        return procfs_read(proc_fd, path, text, sizeof(text), &n) == 0 &&
               proc_stat_parse((Span){ text, n }, &stat) == 0 && proc_stat_is_kthread(&stat);
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns whether this process is known to be in the initial network namespace. */
static bool is_initial(int proc_fd) {
        char target[sizeof(INITIAL_NAMESPACE)];
        ssize_t n = readlinkat(proc_fd, "self/ns/net", target, sizeof(target));

        return n > 0 && span_is((Span){ target, (size_t) n }, INITIAL_NAMESPACE);
}

/* Finds whose files tell of the host's network: *ret_whose is "1" or "self". */
static HostNetworkLack find_network(int proc_fd, const char **ret_whose, bool *ret_is_own) {
        struct stat first, kernel, own;

        if (!is_kernel_thread(proc_fd, "2/stat"))
                return HOST_NETWORK_FOREIGN_PIDS;
        if (fstatat(proc_fd, "1/net/dev", &first, 0) == 0 &&
            fstatat(proc_fd, "2/net/dev", &kernel, 0) == 0) {
                *ret_whose = "1";
                *ret_is_own = fstatat(proc_fd, "self/net/dev", &own, 0) == 0 &&
                              is_same_file(&first, &own);
                return is_same_file(&first, &kernel) ? HOST_NETWORK_THERE
                                                     : HOST_NETWORK_OTHER_NAMESPACE;
        }
        if (errno != EACCES && errno != EPERM)
                return HOST_NETWORK_NO_FILES;
        *ret_whose = "self";
        *ret_is_own = true;
        return is_initial(proc_fd) ? HOST_NETWORK_THERE : HOST_NETWORK_DENIED;
}

/*
 * /sys shows the interfaces of the namespace that it was mounted in. Ours is only right while we
 * share the host's; else that of process 1 is, which takes CAP_SYS_PTRACE.
 */
static int open_interfaces(int proc_fd, int sys_fd, bool is_own) {
        int fd = -EBADF, r = TEXT_E_ABSENT;

        if (!is_own)
                r = text_file_open_directory(proc_fd, "1/root/sys/class/net", &fd);
        else if (sys_fd >= 0)
                r = text_file_open_directory(sys_fd, "class/net", &fd);
        return r == 0 ? fd : -EBADF;
}

/* interfaces */

bool interface_line_parse(Span name, Span numbers, InterfaceLine *ret) {
        Cursor words = cursor_over(numbers);

        ret->name = name;
        return name.n > 0 && host_row_parse(HOST_PART_NETWORK, &words,
                                            host_parts[HOST_PART_NETWORK].n_columns, &ret->row);
}

static bool has(int net_fd, Span name, const char *file) {
        char path[PATH_BYTES + NAME_BYTES];

        (void) snprintf(path, sizeof(path), "%.*s%s", (int) name.n, name.bytes, file);
        return faccessat(net_fd, path, F_OK, 0) == 0;
}

/* The device above it (a bond, or the one that stands for a virtual function) is one itself. */
static bool is_lower(int net_fd, Span name) {
        char path[PATH_BYTES + NAME_BYTES], target[LINK_BYTES];
        const char *slash;
        ssize_t n;

        (void) snprintf(path, sizeof(path), "%.*s/master", (int) name.n, name.bytes);
        n = readlinkat(net_fd, path, target, sizeof(target));
        if (n <= 0 || (size_t) n == sizeof(target))
                return false;
        slash = memrchr(target, '/', (size_t) n);
        if (!slash || (size_t) (target + n - slash - 1) >= NAME_BYTES)
                return false;
        return has(net_fd, (Span){ slash + 1, (size_t) (target + n - slash - 1) }, "/device");
}

static HostKind find_kind(int net_fd, Span name) {
        if (span_is(name, "lo"))
                return HOST_KIND_LOOPBACK;
        if (net_fd < 0 || name.n >= NAME_BYTES || name.bytes[0] == '.' || !has(net_fd, name, ""))
                return HOST_KIND_UNKNOWN;
        if (!has(net_fd, name, "/device"))
                return HOST_KIND_VIRTUAL;
        return is_lower(net_fd, name) ? HOST_KIND_LOWER : HOST_KIND_DEVICE;
}

static void write_interface(JsonWriter *json, const InterfaceLine *line, HostKind kind) {
        json_write_array(json);
        json_write_name(json, line->name);
        if (kind != HOST_KIND_UNKNOWN)
                json_write_text(json, host_kind_name(kind));
        else
                json_write_null(json);
        host_row_write(json, HOST_PART_NETWORK, &line->row);
        json_write_end(json);
}

/* Both lines of the heading are without a colon. */
static void write_interfaces(Span text, int net_fd, JsonWriter *json, HostFile *file) {
        static const char *const more[] = { "kind", NULL };
        Cursor lines = cursor_over(text);
        InterfaceLine line;
        Span name, numbers;

        host_columns_write(json, HOST_PART_NETWORK, more);
        json_write_key(json, "rows");
        json_write_array(json);
        while (cursor_colon_pair(&lines, &name, &numbers)) {
                bool is_good = interface_line_parse(name, numbers, &line);

                file->n_good += is_good;
                file->n_bad += !is_good;
                if (is_good)
                        write_interface(json, &line, find_kind(net_fd, name));
        }
        json_write_end(json);
        file->n_bad += !cursor_is_at_end(&lines);
}

/* protocols */

static bool put_pair(Span prefix, Span name, Span value, Fields *fields) {
        char key[2 * NAME_BYTES];

        if (prefix.n + name.n > sizeof(key))
                return false;
        memcpy(key, prefix.bytes, prefix.n);
        memcpy(key + prefix.n, name.bytes, name.n);
        (void) fields_put(fields, (Span){ key, prefix.n + name.n }, value);
        return true;
}

static bool put_pairs(Span prefix, Span names, Span values, Fields *fields) {
        Cursor left = cursor_over(names), right = cursor_over(values);
        Span name, value;

        while (cursor_word(&left, &name))
                if (!cursor_word(&right, &value) || !put_pair(prefix, name, value, fields))
                        return false;
        return !cursor_word(&right, &value);
}

bool network_pairs_parse(Span text, Fields *fields) {
        Span prefix, names, again, values;
        Cursor lines = cursor_over(text);
        bool is_good = true;

        while (cursor_colon_pair(&lines, &prefix, &names)) {
                is_good = cursor_colon_pair(&lines, &again, &values) && span_equal(prefix, again) &&
                          put_pairs(prefix, names, values, fields) && is_good;
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

static void write_protocols(int proc_fd, const char *whose, Buffer *text, JsonWriter *json,
                            uint64_t *counts) {
        static const char *const names[] = { "snmp", "netstat" };
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values }, part;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char path[PATH_BYTES];
                HostFile file = {};
                Span content;
                int r;

                (void) snprintf(path, sizeof(path), "%s/net/%s", whose, names[i]);
                r = host_file_read(proc_fd, path, text, &content);
                file.n_bad += !network_pairs_parse(content, &fields);
                file.n_good += content.n > 0;
                host_file_count(&file, r, counts);
                fields.malformed = false; /* of the next file alone */
        }
        part = fields;
        part.n_keys = N_COUNTS;
        host_fields_write(json, HOST_GROUP_COUNTS, &part, key_names);
        part = (Fields){ .n_keys = fields.n_keys - N_COUNTS,
                         .values = values + N_COUNTS,
                         .present = fields.present >> N_COUNTS };
        host_fields_write(json, HOST_GROUP_LEVELS, &part, key_names + N_COUNTS);
}

HostNetworkLack host_network_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                                  uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        _cleanup_(fd_closep) int net_fd = -EBADF;
        HostNetworkLack lack;
        char path[PATH_BYTES];
        HostFile file = {};
        const char *whose;
        bool is_own;
        Span content;
        int r;

        lack = find_network(proc_fd, &whose, &is_own);
        if (lack != HOST_NETWORK_THERE) {
                counts[lack == HOST_NETWORK_DENIED ? SOURCE_OUTCOME_denied
                                                   : SOURCE_OUTCOME_unsupported]++;
                return lack;
        }
        write_protocols(proc_fd, whose, text, json, counts);
        net_fd = open_interfaces(proc_fd, sys_fd, is_own);
        (void) snprintf(path, sizeof(path), "%s/net/dev", whose);
        r = host_file_read(proc_fd, path, text, &content);
        write_interfaces(content, net_fd, json, &file);
        host_file_count(&file, r, counts);
        return lack;
}
