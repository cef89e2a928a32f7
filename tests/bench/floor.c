/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Floor
 *
 * What a per-thread snapshot costs before anything is understood: open, read and close the files
 * through the process's task directory, ask taskstats in batches of 64, ask for the affinity, parse
 * nothing. The yardstick of the capture benchmark, run beside it.
 *
 *     floor FILES...        file names below /proc/PID/task/TID, "taskstats" and "affinity";
 *                           "leader:NAME" is read of the first thread of each process only, and
 *                           "user:NAME" likewise, but not of kernel threads
 *     floor iterator PID    reads the task iterator that process PID, a ctprofd, has loaded
 *
 * Prints threads, CPU nanoseconds and wall nanoseconds.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define MAX_FILES 16

typedef struct Question {
        struct nlmsghdr head;
        struct genlmsghdr genl;
        struct nlattr attribute;
        uint32_t value;
} Question;

/* Linux numbers no process higher: PID_MAX_LIMIT. */
#define MAX_PID (1 << 22)

static const char *files[MAX_FILES], *leader_files[MAX_FILES], *user_files[MAX_FILES];
static unsigned n_files, n_leader_files, n_user_files;
static bool is_kernel_thread[MAX_PID + 1];
static bool with_taskstats, with_affinity;
static int netlink = -1;
static uint16_t family;
static char buffer[1 << 16];

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void open_taskstats(void) {
        struct {
                struct nlmsghdr head;
                struct genlmsghdr genl;
                struct nlattr attribute;
                char name[12];
        } ask = {
                .head = { .nlmsg_len = sizeof(ask),
                          .nlmsg_type = GENL_ID_CTRL,
                          .nlmsg_flags = NLM_F_REQUEST },
                .genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
                .attribute = { .nla_len = sizeof(struct nlattr) + 10,
                               .nla_type = CTRL_ATTR_FAMILY_NAME },
                .name = "TASKSTATS",
        };
        struct sockaddr_nl address = { .nl_family = AF_NETLINK };
        ssize_t n;

        netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
        if (netlink < 0 || bind(netlink, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            send(netlink, &ask, sizeof(ask), 0) < 0)
                fail("netlink");
        n = recv(netlink, buffer, sizeof(buffer), 0);
        for (size_t at = sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr);
             at + sizeof(struct nlattr) <= (size_t) n;) {
                struct nlattr attribute;

                memcpy(&attribute, buffer + at, sizeof(attribute));
                if (attribute.nla_len < sizeof(struct nlattr))
                        break;
                if (attribute.nla_type == CTRL_ATTR_FAMILY_ID)
                        memcpy(&family, buffer + at + sizeof(struct nlattr), sizeof(family));
                at += (attribute.nla_len + 3u) & ~3u;
        }
        if (family == 0)
                fail("TASKSTATS");
}

static void ask_taskstats(const pid_t *tids, unsigned n) {
        static Question questions[BATCH];

        for (unsigned i = 0; i < n; i++)
                questions[i] = (Question){
                        .head = { .nlmsg_len = sizeof(Question),
                                  .nlmsg_type = family,
                                  .nlmsg_flags = NLM_F_REQUEST,
                                  .nlmsg_seq = i + 1 },
                        .genl = { .cmd = TASKSTATS_CMD_GET, .version = 1 },
                        .attribute = { .nla_len = sizeof(struct nlattr) + sizeof(uint32_t),
                                       .nla_type = TASKSTATS_CMD_ATTR_PID },
                        .value = (uint32_t) tids[i],
                };
        if (send(netlink, questions, n * sizeof(Question), 0) < 0)
                fail("send");
        for (unsigned i = 0; i < n; i++)
                if (recv(netlink, buffer, sizeof(buffer), 0) < 0)
                        fail("recv");
}

static void read_names(int task_fd, const char *tid, const char *const *names, unsigned n) {
        char path[512];

        for (unsigned i = 0; i < n; i++) {
                int fd;

                snprintf(path, sizeof(path), "%s/%s", tid, names[i]);
                fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                if (read(fd, buffer, 16384) < 0)
                        errno = 0; /* a refused read is part of the floor too */
                (void) close(fd);
        }
}

static void read_thread(int task_fd, const char *tid) {
        cpu_set_t cpus;

        read_names(task_fd, tid, files, n_files);
        if (with_affinity)
                (void) sched_getaffinity(atoi(tid), sizeof(cpus), &cpus);
}

static unsigned long read_process(int proc_fd, const char *pid) {
        pid_t tids[BATCH];
        unsigned long n_threads = 0;
        unsigned n = 0;
        char path[512];
        struct dirent *entry;
        DIR *directory;
        int fd;

        snprintf(path, sizeof(path), "%s/task", pid);
        fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        directory = fdopendir(fd);
        if (!directory)
                fail("fdopendir");
        read_names(fd, pid, leader_files, n_leader_files);
        if (!is_kernel_thread[atoi(pid)])
                read_names(fd, pid, user_files, n_user_files);
        while ((entry = readdir(directory))) {
                if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
                        continue;
                read_thread(fd, entry->d_name);
                n_threads++;
                tids[n++] = atoi(entry->d_name);
                if (n == BATCH && with_taskstats)
                        ask_taskstats(tids, n);
                if (n == BATCH)
                        n = 0;
        }
        if (n > 0 && with_taskstats)
                ask_taskstats(tids, n);
        (void) closedir(directory);
        return n_threads;
}

/* Before the clock starts: kernel threads are those without an executable. */
static void find_kernel_threads(void) {
        char path[512], target[8];
        struct dirent *entry;
        DIR *proc = opendir("/proc");

        if (!proc)
                fail("/proc");
        while ((entry = readdir(proc)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
                        snprintf(path, sizeof(path), "%s/exe", entry->d_name);
                        is_kernel_thread[atoi(entry->d_name)] =
                                readlinkat(dirfd(proc), path, target, sizeof(target)) < 0;
                }
        (void) closedir(proc);
}

static unsigned long read_files(void) {
        unsigned long n_threads = 0;
        struct dirent *entry;
        DIR *proc = opendir("/proc");

        if (!proc)
                fail("/proc");
        while ((entry = readdir(proc)))
                if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
                        n_threads += read_process(dirfd(proc), entry->d_name);
        (void) closedir(proc);
        return n_threads;
}

/* the iterator */

static bool is_task_iterator(int directory, const char *name) {
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer) - 1);

        if (fd >= 0)
                (void) close(fd);
        if (n < 0)
                return false;
        buffer[n] = '\0';
        return strstr(buffer, "link_type:\titer\n") && strstr(buffer, "target_name:\ttask\n");
}

static unsigned long count_records(const char *bytes, size_t n_bytes) {
        unsigned long n = 0;
        uint32_t n_record = 0;

        /* Each begins with its length. */
        for (size_t at = 0; at + sizeof(n_record) <= n_bytes; at += n_record, n++) {
                memcpy(&n_record, bytes + at, sizeof(n_record));
                if (n_record == 0)
                        break;
        }
        return n;
}

/* All records, into memory that is there already. Their bytes are returned in *ret_n. */
static void read_iterator(int link, char *memory, size_t size, size_t *ret_n) {
        union bpf_attr attribute;
        size_t n = 0;
        ssize_t more;
        int fd;

        memset(&attribute, 0, sizeof(attribute)); /* an initializer may leave some bytes */
        attribute.iter_create.link_fd = (uint32_t) link;
        fd = (int) syscall(SYS_bpf, BPF_ITER_CREATE, &attribute, sizeof(attribute));
        if (fd < 0)
                fail("BPF_ITER_CREATE");
        while ((more = read(fd, memory + n, size - n)) > 0 || (more < 0 && errno == EAGAIN))
                n += more > 0 ? (size_t) more : 0;
        if (more < 0)
                fail("read");
        (void) close(fd);
        *ret_n = n;
}

/* A daemon has further iterators over tasks, which make no records. */
static bool makes_records(int link, char *memory, size_t size) {
        size_t n = 0;

        if (link >= 0)
                read_iterator(link, memory, size, &n);
        return n > 0;
}

/* A descriptor of the link that process @pid has; -1: none. */
static int find_link(const char *pid, char *memory, size_t size) {
        char path[64];
        struct dirent *entry;
        DIR *directory;
        int process = (int) syscall(SYS_pidfd_open, atoi(pid), 0), link = -1;

        snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
        directory = opendir(path);
        if (process < 0 || !directory)
                fail(path);
        while (link < 0 && (entry = readdir(directory))) {
                if (!is_task_iterator(dirfd(directory), entry->d_name))
                        continue;
                link = (int) syscall(SYS_pidfd_getfd, process, atoi(entry->d_name), 0);
                if (!makes_records(link, memory, size)) {
                        (void) close(link);
                        link = -1;
                }
        }
        (void) closedir(directory);
        (void) close(process);
        return link;
}

static long long now_ns(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#define MAX_ITERATOR_BYTES (64u << 20)

static void add_file(const char *word) {
        static const struct {
                const char *prefix;
                const char **names;
                unsigned *n;
        } rows[] = {
                { "leader:", leader_files, &n_leader_files },
                { "user:", user_files, &n_user_files },
                { "", files, &n_files },
        };

        for (unsigned i = 0;; i++) {
                size_t n = strlen(rows[i].prefix);

                if (strncmp(word, rows[i].prefix, n) != 0)
                        continue;
                if (*rows[i].n < MAX_FILES)
                        rows[i].names[(*rows[i].n)++] = word + n;
                return;
        }
}

int main(int argc, char **argv) {
        bool is_iterator = argc == 3 && strcmp(argv[1], "iterator") == 0;
        long long cpu_ns, wall_ns;
        unsigned long n_threads;
        char *memory = NULL;
        size_t n_bytes = 0;
        int link = -1;

        for (int i = 1; i < argc && !is_iterator; i++) {
                if (strcmp(argv[i], "taskstats") == 0)
                        with_taskstats = true;
                else if (strcmp(argv[i], "affinity") == 0)
                        with_affinity = true;
                else
                        add_file(argv[i]);
        }
        if (n_user_files > 0)
                find_kernel_threads();
        if (with_taskstats)
                open_taskstats();
        if (is_iterator) {
                memory = malloc(MAX_ITERATOR_BYTES);
                if (!memory)
                        fail("malloc");
                memset(memory, 1, MAX_ITERATOR_BYTES);
                link = find_link(argv[2], memory, MAX_ITERATOR_BYTES);
                if (link < 0) {
                        fprintf(stderr, "floor: process %s has no task iterator\n", argv[2]);
                        return EXIT_FAILURE;
                }
        }
        wall_ns = now_ns(CLOCK_MONOTONIC);
        cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        if (is_iterator)
                read_iterator(link, memory, MAX_ITERATOR_BYTES, &n_bytes);
        n_threads = is_iterator ? 0 : read_files();
        cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
        wall_ns = now_ns(CLOCK_MONOTONIC) - wall_ns;
        if (is_iterator)
                n_threads = count_records(memory, n_bytes);
        free(memory);
        printf("%lu %lld %lld\n", n_threads, cpu_ns, wall_ns);
        return EXIT_SUCCESS;
}
