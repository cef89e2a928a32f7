/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * A host some of whose processes have jemalloc, for the tests of what captures read of it: a tree
 * of files, the memory of the processes, a memory job that reads it, and a file job that answers.
 */

#include <elf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "captured.h"
#include "check-main.h"
#include "fake-memory.h"
#include "capture/heap/file-job.h"
#include "capture/heap/heap-layout.h"
#include "memory-served.h"

/*
 * The processes of the tree: 1 and 30 without jemalloc, 10 and 20 with it; of 10 it is the program
 * that has it, of 20 a library. Each module is a file whose content is what the file job answers.
 */

#define POINTER UINT64_C(0x7f0000100000) /* control blocks of threads, by tid */
#define POINTER_OF(tid) (POINTER + UINT64_C(0x10000) * (uint64_t) (tid))
#define LIBRARY UINT64_C(0x7f1000000000) /* where the library is mapped */
#define SLOT UINT64_C(0x3008)
#define DISTANCE (thread_machine == EM_X86_64 ? INT64_C(-4096) : INT64_C(4096))

static Tree tree;
static FakeSystem fake;
static Captured captured;
static FakeMemory memory;

/* the system */

static inline ssize_t read_memory(void *userdata, pid_t pid, const struct iovec *local,
                                  const struct iovec *remote, size_t n) {
        return fake_read(&memory, pid, local, remote, n);
}

static inline int find_robust_list(void *userdata, pid_t tid, uint64_t *ret_head) {
        return fake_robust_list(&memory, tid, ret_head);
}

/* the file job: answers with the content of the file, which is a layout, and knows no threads */

static struct {
        pthread_t thread;
        int fd;
        unsigned n_started, n_asked;
        int start_error, answer_error, thread_error;
        bool is_silent;
} job;

static inline int receive_question(HelperAsked *ret_asked) {
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
        struct iovec bytes = { ret_asked, sizeof(*ret_asked) };
        struct msghdr message = { .msg_iov = &bytes,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fd;

        if (recvmsg(job.fd, &message, MSG_CMSG_CLOEXEC) <= 0)
                return -1;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return fd;
}

static inline void answer_about_threads(const HelperAsked *asked) {
        const struct {
                HelperAnswered head;
                ThreadLayout layout;
        } answer = { { asked->id, job.thread_error }, { .is_known = 0 } };
        size_t n = job.thread_error == 0 ? sizeof(answer) : sizeof(answer.head);

        (void) !send(job.fd, &answer, n, MSG_NOSIGNAL);
}

static inline void *run_job(void *userdata) {
        HelperAsked asked;
        int fd;

        while ((fd = receive_question(&asked)) >= 0) {
                struct {
                        HelperAnswered head;
                        HeapLayout layout;
                } answer = { { asked.id, job.answer_error }, { .verdict = HEAP_NOT_JEMALLOC } };
                size_t n = job.answer_error == 0 ? sizeof(answer) : sizeof(answer.head);

                if (asked.question == FILE_QUESTION_THREAD_LAYOUT) {
                        answer_about_threads(&asked);
                        (void) close(fd);
                        continue;
                }
                __atomic_add_fetch(&job.n_asked, 1, __ATOMIC_RELAXED);
                if (pread(fd, &answer.layout, sizeof(answer.layout), 0) !=
                    (ssize_t) sizeof(answer.layout))
                        answer.layout = (HeapLayout){ .verdict = HEAP_NOT_JEMALLOC };
                (void) close(fd);
                if (!job.is_silent)
                        (void) !send(job.fd, &answer, n, MSG_NOSIGNAL);
        }
        (void) close(job.fd);
        return NULL;
}

static inline int open_files(void *userdata, int peer_fd) {
        job.n_started++;
        job.fd = peer_fd;
        if (job.start_error == 0 && pthread_create(&job.thread, NULL, run_job, NULL) == 0)
                return 0;
        (void) close(peer_fd);
        return job.start_error;
}

/* the tree */

static inline void put_layout(const char *path, const HeapLayout *layout) {
        tree_write(&tree, path, (Span){ (const char *) layout, sizeof(*layout) });
}

static inline HeapLayout program_layout(void) {
        return (HeapLayout){
                .verdict = HEAP_FAILURE_NONE,
                .machine = thread_machine,
                .tls_vaddr = 0x402000,
                .tls_memsz = 1024,
                .tls_align = 16,
                .first_vaddr = 0x400000,
                .tsd = 0,
                .is_fixed = 1,
                .allocated = 16,
                .deallocated = 24,
        };
}

static inline HeapLayout library_layout(HeapSlot slot) {
        return (HeapLayout){
                .verdict = HEAP_FAILURE_NONE,
                .machine = thread_machine,
                .slot_kind = slot,
                .slot_vaddr = slot == HEAP_SLOT_NONE ? 0 : SLOT,
                .tls_vaddr = 0x2010,
                .tls_memsz = 2632,
                .tls_align = 16,
                .tsd = 0,
                .allocated = 824,
                .deallocated = 840,
        };
}

/* Where the block of a program with program_layout() is. */
static inline int64_t program_distance(void) {
        return thread_machine == EM_X86_64 ? -1024 : 16;
}

#define MAPS_OF_PROGRAM(inode)                                      \
        "00400000-00401000 r-xp 00000000 fd:01 " #inode " /bin/x\n" \
        "00402000-00403000 rw-p 00002000 fd:01 " #inode " /bin/x\n"
#define MAPS_OF_LIBRARY(inode)                                                             \
        "7f1000000000-7f1000001000 r--p 00000000 fd:01 " #inode " /lib/libjemalloc.so.2\n" \
        "7f1000001000-7f1000002000 r-xp 00001000 fd:01 " #inode " /lib/libjemalloc.so.2\n" \
        "7f1000002000-7f1000004000 rw-p 00002000 fd:01 " #inode " /lib/libjemalloc.so.2\n"
#define OTHER_MAPS                                                           \
        "7f2000000000-7f2000001000 r-xp 00000000 fd:01 900 /lib/libc.so.6\n" \
        "7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]\n"

static inline void add_process(pid_t tgid, const char *maps) {
        char path[64];

        tree_add_thread(&tree, &(TreeThread){ .tgid = tgid,
                                              .tid = tgid,
                                              .start_stack = 5000 + (unsigned) tgid,
                                              .num_threads = 2 });
        snprintf(path, sizeof(path), "proc/%d/task/%d/maps", tgid, tgid);
        tree_write(&tree, path, span_of(maps));
        snprintf(path, sizeof(path), "proc/%d/map_files/7f2000000000-7f2000001000", tgid);
        tree_write_text(&tree, "libc.so.6", "libc");
        tree_link(&tree, path, "../../../libc.so.6");
}

static inline void add_thread(pid_t tgid, pid_t tid) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = tgid,
                                              .tid = tid,
                                              .start_stack = 5000 + (unsigned) tgid,
                                              .num_threads = 2 });
}

/* Of thread @tid: @distance is that of the block from the thread pointer. */
static inline void put_counters(pid_t tid, int64_t distance, const HeapLayout *layout,
                                uint64_t allocated, uint64_t deallocated) {
        uint64_t block = POINTER_OF(tid) + (uint64_t) distance;

        for (uint64_t at = layout->allocated; at < layout->deallocated; at += 8)
                fake_word(&memory, block + at, 0xdead);
        fake_word(&memory, block + layout->allocated, allocated);
        fake_word(&memory, block + layout->deallocated, deallocated);
}

static inline FakeTask *add_task(pid_t tid, uint32_t number) {
        ThreadGeometry geometry;

        ck_assert(thread_geometry_usual(thread_machine, &geometry));
        return fake_add_task(&memory, thread_machine, geometry, tid, number, POINTER_OF(tid), 0);
}

static inline void put_library(HeapSlot slot) {
        const HeapLayout layout = library_layout(slot);

        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &layout);
        fake_word(&memory, LIBRARY + SLOT, (uint64_t) DISTANCE);
}

static inline void setup(void) {
        const HeapLayout program = program_layout(), library = library_layout(HEAP_SLOT_TPOFF);

        memset(&memory, 0, sizeof(memory));
        memset(&job, 0, sizeof(job));
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        fake.system.read_memory = read_memory;
        fake.system.find_robust_list = find_robust_list;
        captured_init(&captured, &tree, &fake);
        captured.options.heap = true;
        captured.options.heap_limit_ns = 100 * NSEC_PER_SEC;
        captured.options.open_memory = memory_served_open;
        memset(&memory_served, 0, sizeof(memory_served));
        memory_served.options = (MemoryJobOptions){
                .proc_fd = tree.proc_fd,
                .system = &fake.system,
                .cache_fd = memfd_create("files", MFD_CLOEXEC),
                .open_files = open_files,
        };
        ck_assert_int_eq(ftruncate(memory_served.options.cache_fd, 1 << 20), 0);
        captured.options.heap_cache_fd = memfd_create("cache", MFD_CLOEXEC);
        ck_assert_int_eq(ftruncate(captured.options.heap_cache_fd, 1 << 20), 0);

        add_process(1, OTHER_MAPS);
        add_process(10, MAPS_OF_PROGRAM(100) OTHER_MAPS);
        add_thread(10, 11);
        put_layout("proc/10/task/10/exe", &program);
        tree_link(&tree, "proc/10/map_files/400000-401000", "../task/10/exe");
        add_process(20, MAPS_OF_LIBRARY(200) OTHER_MAPS);
        put_library(HEAP_SLOT_TPOFF);
        add_process(30, OTHER_MAPS);
        for (pid_t tid = 10; tid <= 11; tid++) {
                (void) add_task(tid, (uint32_t) tid);
                put_counters(tid, program_distance(), &program, 100u * (unsigned) tid, 7);
        }
        (void) add_task(20, 20);
        put_counters(20, DISTANCE, &library, 2000, 5);
}

static inline void teardown(void) {
        (void) close(captured.options.heap_cache_fd);
        (void) close(memory_served.options.cache_fd);
        captured_done(&captured);
        tree_remove(&tree);
}

static inline void capture(void) {
        unsigned n_before = job.n_started, n_served_before = memory_served.n_started;

        memory_served.options.limit_ns = captured.options.heap_limit_ns;
        captured_run(&captured);
        memory_served_join(n_served_before);
        ck_assert_int_eq(captured.result, 0);
        if (job.n_started > n_before && job.start_error == 0)
                (void) pthread_join(job.thread, NULL);
}

static inline bool has(pid_t tid) {
        return captured_has(&captured, tid, METRIC_allocated_bytes) &&
               captured_has(&captured, tid, METRIC_deallocated_bytes);
}

static inline void check_value(pid_t tid, uint64_t allocated, uint64_t deallocated) {
        ck_assert_uint_eq(captured_value(&captured, tid, METRIC_allocated_bytes), allocated);
        ck_assert_uint_eq(captured_value(&captured, tid, METRIC_deallocated_bytes), deallocated);
}

static inline const char *reason(void) {
        return captured.sources.sources[SOURCE_JEMALLOC].reason;
}

static inline const char *summary(void) {
        const char *text;

        ck_assert_int_eq(buffer_terminate(&captured.probe_summary, &text), 0);
        return text;
}

#define SUMMARY(walked, detected, ok, failed, dominant, denied, failures)                         \
        "{\"tgids_walked\":" walked ",\"jemalloc_detected\":" detected ",\"probed_ok\":" ok       \
        ",\"failed\":" failed ",\"dominant_failure\":" dominant ",\"privilege_dominant\":" denied \
        ",\"failures\":{" failures "}}"

static inline void check_source(SourceState state, uint64_t ok, uint64_t denied, uint64_t vanished,
                                uint64_t unsupported, uint64_t other) {
        captured_check_source(&captured, SOURCE_JEMALLOC, state, ok, denied, vanished, unsupported,
                              other);
}
