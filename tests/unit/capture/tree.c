/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

static int open_directory(const Tree *tree, const char *name) {
        int fd;

        ck_assert_int_eq(mkdirat(tree->fd, name, 0755), 0);
        fd = openat(tree->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        return fd;
}

void tree_make(Tree *tree) {
        const char *directory = getenv("TMPDIR");

        /* Thousands of small files: a disk takes five times as long for them as memory does. */
        if (!directory)
                directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(tree->path, sizeof(tree->path), "%.40s/ctprof-tree-XXXXXX", directory);
        ck_assert_ptr_nonnull(mkdtemp(tree->path));
        ck_assert_int_eq(chmod(tree->path, 0755), 0);
        tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(tree->fd, 0);
        tree->proc_fd = open_directory(tree, "proc");
        tree->sys_fd = open_directory(tree, "sys");
        tree->cgroup_fd = open_directory(tree, "cgroup");

        tree_write_text(tree, "proc/cmdline", "quiet delayacct\n");
        tree_write_text(tree, "proc/sys/kernel/osrelease", "6.18.44-amd64\n");
        tree_write_text(tree, "proc/sys/kernel/ostype", "Linux\n");
        tree_write_text(tree, "proc/sys/kernel/hostname", "tree\n");
        tree_write_text(tree, "proc/sys/kernel/random/boot_id",
                        "12345678-9abc-def0-1234-56789abcdef0\n");
        tree_write_text(tree, "proc/sys/kernel/sched_schedstats", "1\n");
        tree_write_text(tree, "proc/sys/kernel/task_delayacct", "1\n");
        tree_write_text(tree, "proc/cpuinfo", "model name\t: none\nvendor_id\t: none\n\n");
        tree_write_text(tree, "proc/meminfo", "MemTotal:        1024 kB\n");
        for (int i = 0; i < 3; i++)
                tree_write_text(tree,
                                i == 0   ? "proc/pressure/cpu"
                                : i == 1 ? "proc/pressure/memory"
                                         : "proc/pressure/io",
                                "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"
                                "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
                                i);
        tree_write_text(tree, "cgroup/cgroup.controllers", "cpu\n");
        tree_write_text(tree, "cgroup/cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2\n");
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
        (void) chmod(path, 0700);
        return remove(path);
}

void tree_remove(Tree *tree) {
        close(tree->proc_fd);
        close(tree->sys_fd);
        close(tree->cgroup_fd);
        close(tree->fd);
        ck_assert_int_eq(nftw(tree->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_parents(const Tree *tree, const char *path) {
        char parent[512];

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                size_t n = (size_t) (slash - path);

                ck_assert_uint_lt(n, sizeof(parent));
                memcpy(parent, path, n);
                parent[n] = '\0';
                ck_assert(mkdirat(tree->fd, parent, 0755) == 0 || errno == EEXIST);
        }
}

void tree_write(const Tree *tree, const char *path, Span content) {
        int fd;

        make_parents(tree, path);
        fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        ck_assert_msg(fd >= 0, "%s", path);
        ck_assert_int_eq(write(fd, content.bytes, content.n), (ssize_t) content.n);
        close(fd);
}

void tree_write_text(const Tree *tree, const char *path, const char *format, ...) {
        char text[4096];
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        ck_assert_int_lt(n, (int) sizeof(text));
        tree_write(tree, path, (Span){ text, (size_t) n });
}

void tree_delete(const Tree *tree, const char *path) {
        ck_assert_msg(unlinkat(tree->fd, path, 0) == 0, "%s", path);
}

void tree_link(const Tree *tree, const char *path, const char *target) {
        make_parents(tree, path);
        ck_assert_int_eq(symlinkat(target, tree->fd, path), 0);
}

void tree_deny(const Tree *tree, const char *path) {
        ck_assert_msg(fchmodat(tree->fd, path, 0, 0) == 0, "%s", path);
}

void tree_allow(const Tree *tree, const char *path) {
        ck_assert_msg(fchmodat(tree->fd, path, 0755, 0) == 0, "%s", path);
}

void tree_be_nobody(void) {
        (void) setfsuid(NOBODY);
}

void tree_be_somebody(void) {
        (void) setfsuid(geteuid());
}

static void write_stat(const Tree *tree, const char *path, const TreeThread *thread) {
        const char *comm = thread->comm ? thread->comm : "thread";
        size_t n_comm = thread->n_comm ? thread->n_comm : strlen(comm);
        char text[1024];
        int n;

        n = snprintf(text, sizeof(text), "%d (", thread->tid);
        memcpy(text + n, comm, n_comm);
        n += (int) n_comm;
        n += snprintf(
                text + n, sizeof(text) - (size_t) n,
                ") %c 1 1 1 0 -1 %u %u 0 12 0 13 14 0 0 20 -5 %d 0 %llu %d 3 "
                "18446744073709551615 1 1 %u 0 0 0 0 0 0 0 0 0 17 1 0 %d 0 0 0 0 0 0 0 0 0 0 0\n",
                thread->state ? thread->state : 'S',
                thread->kthread ? 0x00200000u | 64u
                : thread->flags ? thread->flags
                                : 64u,
                thread->minflt ? thread->minflt : 11, thread->num_threads ? thread->num_threads : 1,
                (unsigned long long) (thread->start ? thread->start
                                                    : 1000u + (unsigned) thread->tid),
                thread->kthread || thread->no_space ? 0 : 4096000, thread->start_stack,
                thread->policy);
        tree_write(tree, path, (Span){ text, (size_t) n });
}

static void write_status(const Tree *tree, const char *path, const TreeThread *thread) {
        char memory[128] = "";

        if (!thread->kthread && !thread->no_space)
                (void) snprintf(memory, sizeof(memory),
                                "VmHWM:\t      21 kB\nRssAnon:\t%8llu kB\nRssFile:\t       2 "
                                "kB\nRssShmem:\t       3 kB\n"
                                "VmSwap:\t       4 kB\nVmLib:\t     100 kB\n",
                                thread->anon_kib ? thread->anon_kib
                                                 : (unsigned long long) thread->tid);
        tree_write_text(tree, path,
                        "Name:\tx\nState:\tS (sleeping)\nUid:\t41\t1\t1\t1\nGid:\t42\t1\t1\t1\n"
                        "%svoluntary_ctxt_switches:\t43\nnonvoluntary_ctxt_switches:\t44\n",
                        memory);
}

#define DASHES "-------------------------------------------------------------------\n"

void tree_add_thread(const Tree *tree, const TreeThread *thread) {
        char path[256];
        int n = snprintf(path, sizeof(path), "proc/%d/task/%d/", thread->tgid, thread->tid);
        char *leaf = path + n;

        strcpy(leaf, "stat");
        write_stat(tree, path, thread);
        strcpy(leaf, "sched");
        tree_write_text(tree, path,
                        "x (%d, #threads: 1)\n" DASHES "se.nr_migrations : %d\n"
                        "sum_sleep_runtime : 3.000001\nsum_block_runtime : 1.000000\n"
                        "wait_max : 0.000007\nwait_sum : 0.000009\nwait_count : 4\n"
                        "nr_wakeups : 21\nse.slice : 2800000\next.enabled : 0\n",
                        thread->tid, thread->tid);
        strcpy(leaf, "io");
        tree_write_text(tree, path,
                        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
                        "cancelled_write_bytes: 7\n");
        strcpy(leaf, "schedstat");
        tree_write_text(tree, path, "31 32 33\n");
        strcpy(leaf, "status");
        write_status(tree, path, thread);
        strcpy(leaf, "cgroup");
        tree_write_text(tree, path, "3:cpu:/other\n0::%s\n", thread->cgroup ? thread->cgroup : "/");
        if (thread->kthread || thread->no_space)
                return;
        strcpy(leaf, "smaps_rollup");
        tree_write_text(
                tree, path,
                "00400000-7fff0000 ---p 00000000 00:00 0    [rollup]\nRss: %d kB\nPss: 1 kB\n",
                thread->tid);
        strcpy(leaf, "exe");
        tree_write_text(tree, path, "x");
        if (thread->tid != thread->tgid)
                return;
        (void) snprintf(path, sizeof(path), "proc/%d/statm", thread->tgid);
        tree_write_text(tree, path, "1000 %llu 5 1 0 80 0\n",
                        thread->anon_kib / 4 ? thread->anon_kib / 4
                                             : (unsigned long long) thread->tid);
}
