/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/task-program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "kernel/bpf/ledger-record.h"

#include <task.skel.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"
#define EXT_DIRECTORY "/sys/kernel/sched_ext" /* there if the kernel has sched_ext */

/* libbpf tells what went wrong in lines, and asks nobody where they should go. */
static char last_complaint[TASK_PROGRAM_REASON_BYTES];

_printf_(2, 0) static int keep_complaint(enum libbpf_print_level level, const char *format,
                                         va_list arguments) {
        char text[4096], *line, *end;

        if (level != LIBBPF_WARN)
                return 0;
        (void) vsnprintf(text, sizeof(text), format, arguments);
        /* The verifier's log comes as one text: its last line says what it stopped at. */
        end = text + strlen(text);
        while (end > text && end[-1] == '\n')
                *--end = '\0';
        line = strrchr(text, '\n');
        (void) snprintf(last_complaint, sizeof(last_complaint), "%.*s", 160,
                        line ? line + 1 : text);
        return 0;
}

static bool is_shortage(int r) {
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* The level that holds is the one in brackets. */
static bool is_confidential(void) {
        _cleanup_(fd_closep) int fd = open(LOCKDOWN_FILE, O_RDONLY | O_CLOEXEC);
        char text[128];
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (n < 0)
                return false;
        text[n] = '\0';
        return strstr(text, "[confidentiality]") != NULL;
}

/*
 * Programs see threads, clocks and cgroups as in the initial namespaces, /proc and system calls as
 * in ours. The numbers of the initial namespaces are fixed (fs/proc: PROC_PID_INIT_INO since 3.8,
 * PROC_TIME_INIT_INO, PROC_CGROUP_INIT_INO).
 */
static const char *find_own_namespace(void) {
        static const struct {
                const char *name, *path;
                ino_t initial;
        } all[] = {
                { "pid", "/proc/self/ns/pid", 0xEFFFFFFCu },
                { "time", "/proc/self/ns/time", 0xEFFFFFFAu },
                { "cgroup", "/proc/self/ns/cgroup", 0xEFFFFFFBu },
        };
        struct stat status;

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (stat(all[i].path, &status) == 0 && status.st_ino != all[i].initial)
                        return all[i].name;
        return NULL;
}

static int refuse(int r, char *ret_reason) {
        if (is_shortage(r))
                return r;
        if (is_confidential()) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "the kernel is in lockdown=confidentiality, in which no BPF "
                                "program may read its memory");
                return TASK_PROGRAM_E_DENIED;
        }
        if (r == -ENOSYS) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "there is no bpf(2) here: BPF programs take a kernel with "
                                "CONFIG_BPF_SYSCALL");
                return TASK_PROGRAM_E_NO_CALL;
        }
        if (faccessat(AT_FDCWD, TYPES_FILE, R_OK, 0) != 0) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "%s cannot be read (%s): BPF programs take a kernel with "
                                "CONFIG_DEBUG_INFO_BTF",
                                TYPES_FILE, strerror(errno));
                return TASK_PROGRAM_E_NO_TYPES;
        }
        if (r == -EPERM) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "the kernel refuses to load BPF programs (%s): that takes CAP_BPF "
                                "and CAP_PERFMON",
                                strerror(-r));
                return TASK_PROGRAM_E_DENIED;
        }
        (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                        "this kernel does not take the program (%s)%s%.120s", strerror(-r),
                        last_complaint[0] ? ": " : "", last_complaint);
        return TASK_PROGRAM_E_REFUSED;
}

static bool find_enumerator(const struct btf *types, const char *type_name, const char *name,
                            uint32_t *ret) {
        int id = btf__find_by_name_kind(types, type_name, BTF_KIND_ENUM);
        const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(types, (uint32_t) id);

        for (uint16_t i = 0; type && i < btf_vlen(type); i++) {
                const struct btf_enum *one = &btf_enum(type)[i];

                if (strcmp(btf__name_by_offset(types, one->name_off), name) == 0) {
                        *ret = (uint32_t) one->val;
                        return true;
                }
        }
        return false;
}

/*
 * The states of a task of sched_ext have been renumbered (three of two bits up to 7.2, more of
 * three bits on 7.3), so the kernel's types are asked for their numbers. The program cannot ask
 * itself: where a kernel does not know the enumeration, libbpf looks for it in modules, which takes
 * CAP_SYS_ADMIN. Where it is not known, nothing is told of sched_ext.
 */
static void choose_ext_state(struct task_bpf *skeleton, const struct btf *types) {
        uint32_t mask = 0, enabled = 0;

        if (faccessat(AT_FDCWD, EXT_DIRECTORY, F_OK, 0) != 0)
                return;
        if (find_enumerator(types, "scx_ent_flags", "SCX_TASK_STATE_MASK", &mask) && mask != 0 &&
            (find_enumerator(types, "scx_task_state", "SCX_TASK_ENABLED", &enabled) ||
             find_enumerator(types, "scx_ent_flags", "SCX_TASK_ENABLED", &enabled))) {
                /* The number of a state, or its bits in place. */
                skeleton->rodata->ext_enabled =
                        enabled & ~mask ? enabled << __builtin_ctz(mask) : enabled;
                skeleton->rodata->ext_mask = mask;
        }
}

/* How much of a recording the kernel is asked to take: each is tried where the next is refused. */
typedef enum Recording {
        RECORDING_NONE,
        RECORDING_BARE,     /* who wakes threads is not seen, either */
        RECORDING_UNHOOKED, /* threads go on unseen */
        RECORDING_HOOKED,
} Recording;

static void choose_recording(struct task_bpf *skeleton, const struct btf *types,
                             Recording recording) {
        bool has_tracepoint =
                btf__find_by_name_kind(types, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF) >= 0;

        skeleton->rodata->has_recording = recording > RECORDING_NONE;
        (void) bpf_program__set_autoload(skeleton->progs.record_go_on,
                                         recording == RECORDING_HOOKED && has_tracepoint);
        (void) bpf_program__set_autoload(skeleton->progs.record_return,
                                         recording == RECORDING_HOOKED && !has_tracepoint);
        (void) bpf_program__set_autoload(
                skeleton->progs.record_symbols,
                recording > RECORDING_NONE &&
                        btf__find_by_name_kind(types, "bpf_iter__ksym", BTF_KIND_STRUCT) >= 0);
        (void) bpf_program__set_autoload(skeleton->progs.record_waking,
                                         recording >= RECORDING_UNHOOKED);
        (void) bpf_program__set_autoload(skeleton->progs.record_clock, recording > RECORDING_NONE);
        (void) bpf_program__set_autoload(skeleton->progs.record_fork, recording > RECORDING_NONE);
        (void) bpf_program__set_autoload(skeleton->progs.record_rest, recording > RECORDING_NONE);
}

static int choose_all(struct task_bpf *skeleton, Recording recording) {
        struct btf *types = btf__load_vmlinux_btf();

        if (!types)
                return -errno;
        choose_ext_state(skeleton, types);
        choose_recording(skeleton, types, recording);
        btf__free(types);
        return 0;
}

#if defined(__x86_64__)
#define CALL_NUMBER(x86_64, aarch64) (x86_64)
#elif defined(__aarch64__)
#define CALL_NUMBER(x86_64, aarch64) (aarch64)
/* It has not got these. */
#define SYS_poll (-1)
#define SYS_select (-1)
#define SYS_epoll_wait (-1)
#define SYS_open (-1)
#define SYS_creat (-1)
#define SYS_stat (-1)
#define SYS_lstat (-1)
#define SYS_access (-1)
#define SYS_pause (-1)
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455 /* since 6.7 */
#endif

#ifdef CALL_NUMBER
/* The table says what the headers of the architecture do. */
#define CALL_PROVE(name, x86_64, aarch64, decides)                                      \
        _Static_assert(CALL_NUMBER(x86_64, aarch64) == SYS_##name, "number of " #name); \
        _Static_assert(CALL_NUMBER(x86_64, aarch64) < (int) CALL_NUMBERS, "there is room");
REASON_CALLS(CALL_PROVE)
#else
#define CALL_NUMBER(x86_64, aarch64) (-1)
#endif

/* On an architecture whose numbers are not known, every call is another reason. */
static void choose_reasons(struct task_bpf *skeleton) {
        static const struct {
                int number;
                uint8_t decides;
        } calls[] = {
#define CALL_ROW(name, x86_64, aarch64, decides) { CALL_NUMBER(x86_64, aarch64), decides },
                REASON_CALLS(CALL_ROW)
        };

        for (size_t i = 0; i < CALL_NUMBERS; i++)
                skeleton->rodata->reason_of_call[i] = WAIT_REASON_other;
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                if (calls[i].number >= 0)
                        skeleton->rodata->reason_of_call[calls[i].number] = calls[i].decides;
}

static int attach(const struct bpf_program *program, struct bpf_link **link) {
        *link = bpf_program__attach(program);
        return *link ? 0 : -errno;
}

/* Has a program of the iterator run for each thread of the host; it writes nothing. */
static int run_for_all(const struct bpf_program *program) {
        struct bpf_link *link = bpf_program__attach(program);
        _cleanup_(fd_closep) int fd = -EBADF;
        char byte;
        int r = 0;

        if (!link)
                return -errno;
        fd = bpf_iter_create(bpf_link__fd(link));
        if (fd < 0 || read(fd, &byte, sizeof(byte)) < 0)
                r = -errno;
        (void) bpf_link__destroy(link);
        return r;
}

/*
 * The program that ends something comes before the one that begins it: nothing begins without an
 * end.
 */
static int attach_all(struct task_bpf *skeleton, const TaskProgramOptions *options) {
        static const LedgerValues none;
        LedgerControl *control = &skeleton->bss->control;
        int r;

        r = attach(skeleton->progs.read_task, &skeleton->links.read_task);
        if (r == 0 && options->waits)
                r = attach(skeleton->progs.end_wait, &skeleton->links.end_wait);
        if (r == 0 && options->waits)
                r = attach(skeleton->progs.leave_cpu, &skeleton->links.leave_cpu);
        if (r == 0 && options->waits)
                r = attach(skeleton->progs.seed_reasons, &skeleton->links.seed_reasons);
        if (r == 0 && bpf_program__autoload(skeleton->progs.record_rest))
                r = attach(skeleton->progs.record_rest, &skeleton->links.record_rest);
        if (r == 0 && bpf_program__autoload(skeleton->progs.record_symbols))
                r = attach(skeleton->progs.record_symbols, &skeleton->links.record_symbols);
        if (r == 0 && options->waits) {
                control->waits_since_ns = clock_now_ns(CLOCK_BOOTTIME);
                r = run_for_all(skeleton->progs.seed_waits);
        }
        /* It is also in the names of epochs. */
        if (r == 0 && getrandom(control->id, sizeof(control->id), 0) != sizeof(control->id))
                r = -errno;
        if (r < 0 || !options->ledger)
                return r;
        control->generation = 1;
        control->begun_ns = clock_now_ns(CLOCK_BOOTTIME);
        /*
         * Owners get a row for what finds no room when it is needed; those for owners who are too
         * many for that, and for want of memory, are made first.
         */
        for (uint32_t odd = 0; odd < 2; odd++) {
                const LedgerKey key = { .flags = LEDGER_OVERFLOW,
                                        .is_of_odd = odd,
                                        .owner = LEDGER_OTHERS };

                if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.ledger_rows), &key, &none,
                                        BPF_NOEXIST) < 0)
                        return -errno;
        }
        r = attach(skeleton->progs.free_task, &skeleton->links.free_task);
        if (r == 0)
                r = attach(skeleton->progs.add_exit, &skeleton->links.add_exit);
        if (r == 0)
                control->ledger_since_ns = clock_now_ns(CLOCK_BOOTTIME);
        return r;
}

static int link_fd(const struct bpf_link *link) {
        return link ? bpf_link__fd(link) : -EBADF;
}

static int program_fd(const struct bpf_program *program) {
        return bpf_program__autoload(program) ? bpf_program__fd(program) : -EBADF;
}

/* Links hold their programs, and these their maps. */
static int keep_all(const struct task_bpf *skeleton, TaskObjects *objects) {
        const struct {
                TaskObject object;
                int fd;
        } all[] = {
                { TASK_OBJECT_TASKS, link_fd(skeleton->links.read_task) },
                { TASK_OBJECT_CONTROL, bpf_map__fd(skeleton->maps.bss) },
                { TASK_OBJECT_ROWS, bpf_map__fd(skeleton->maps.ledger_rows) },
                { TASK_OBJECT_RECORDS, bpf_map__fd(skeleton->maps.ledger_records) },
                { TASK_OBJECT_CGROUPS, bpf_map__fd(skeleton->maps.ledger_cgroups) },
                { TASK_OBJECT_MOVED, bpf_map__fd(skeleton->maps.ledger_moved) },
                { TASK_OBJECT_CALLS, bpf_map__fd(skeleton->maps.ledger_calls) },
                { TASK_OBJECT_EXIT, link_fd(skeleton->links.add_exit) },
                { TASK_OBJECT_FREE, link_fd(skeleton->links.free_task) },
                { TASK_OBJECT_SWITCH, link_fd(skeleton->links.leave_cpu) },
                { TASK_OBJECT_END_WAIT, link_fd(skeleton->links.end_wait) },
                { TASK_OBJECT_OWN, bpf_map__fd(skeleton->maps.ledger_own) },
                { TASK_OBJECT_SEED, link_fd(skeleton->links.seed_reasons) },
                { TASK_OBJECT_SAMPLES,
                  skeleton->links.record_rest ? bpf_map__fd(skeleton->maps.record_ring) : -EBADF },
                { TASK_OBJECT_GO_ON, bpf_program__autoload(skeleton->progs.record_return)
                                             ? bpf_program__fd(skeleton->progs.record_return)
                                             : program_fd(skeleton->progs.record_go_on) },
                { TASK_OBJECT_WAKING, program_fd(skeleton->progs.record_waking) },
                { TASK_OBJECT_CLOCK, program_fd(skeleton->progs.record_clock) },
                { TASK_OBJECT_FORK, program_fd(skeleton->progs.record_fork) },
                { TASK_OBJECT_REST, link_fd(skeleton->links.record_rest) },
                { TASK_OBJECT_SYMBOLS, link_fd(skeleton->links.record_symbols) },
                { TASK_OBJECT_LENGTHS, skeleton->links.record_rest
                                               ? bpf_map__fd(skeleton->maps.record_lengths)
                                               : -EBADF },
                { TASK_OBJECT_TICKS,
                  skeleton->links.record_rest ? bpf_map__fd(skeleton->maps.record_ticks) : -EBADF },
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(all) && r == 0; i++)
                if (all[i].fd >= 0) {
                        /* The skeleton closes its own descriptors when it is freed. */
                        objects->fds[all[i].object] = fcntl(all[i].fd, F_DUPFD_CLOEXEC, 3);
                        r = objects->fds[all[i].object] < 0 ? -errno : 0;
                }
        return r;
}

static int load(const TaskProgramOptions *options, Recording recording, TaskObjects *objects) {
        struct task_bpf *skeleton = task_bpf__open();
        int n_cpus, r;

        if (!skeleton)
                return -errno;
        (void) bpf_program__set_autoload(skeleton->progs.add_exit, options->ledger);
        (void) bpf_program__set_autoload(skeleton->progs.free_task, options->ledger);
        (void) bpf_program__set_autoload(skeleton->progs.leave_cpu, options->waits);
        (void) bpf_program__set_autoload(skeleton->progs.end_wait, options->waits);
        (void) bpf_program__set_autoload(skeleton->progs.seed_waits, options->waits);
        (void) bpf_program__set_autoload(skeleton->progs.seed_reasons, options->waits);
        choose_reasons(skeleton);
        /* A CPU mask has a bit for each CPU that may ever be there. */
        n_cpus = r = libbpf_num_possible_cpus();
        if (r >= 0) {
                skeleton->rodata->n_cpus = (uint32_t) n_cpus;
                skeleton->rodata->n_affinity_bytes = ((uint32_t) n_cpus + 63) / 64 * 8;
                /* A ring has whole pages; one is the smallest that the kernel takes. */
                r = bpf_map__set_max_entries(skeleton->maps.ledger_calls,
                                             (uint32_t) sysconf(_SC_PAGESIZE));
        }
        if (r == 0)
                r = bpf_map__set_max_entries(skeleton->maps.record_ticks, (uint32_t) n_cpus);
        if (r == 0)
                r = bpf_map__set_max_entries(
                        skeleton->maps.record_spaces,
                        (uint32_t) n_cpus * bpf_map__max_entries(skeleton->maps.record_spaces));
        if (r == 0 && recording == RECORDING_NONE)
                r = bpf_map__set_max_entries(skeleton->maps.record_ring,
                                             (uint32_t) sysconf(_SC_PAGESIZE));
        if (r == 0 && recording == RECORDING_NONE)
                r = bpf_map__set_max_entries(skeleton->maps.record_lengths, 1);
        if (r == 0)
                r = choose_all(skeleton, recording);
        if (r == 0)
                r = task_bpf__load(skeleton);
        if (r == 0)
                r = attach_all(skeleton, options);
        if (r == 0)
                r = keep_all(skeleton, objects);
        task_bpf__destroy(skeleton);
        if (r < 0)
                task_objects_done(objects);
        return r;
}

/*
 * The programs that the kernel refuses may belong to a recording. All other programs work without
 * those, so loading is tried again with fewer programs of a recording.
 */
static int load_most(const TaskProgramOptions *options, TaskObjects *objects, char *ret_reason) {
        Recording recording =
                options->waits && !options->captures_only ? RECORDING_HOOKED : RECORDING_NONE;
        char reason[TASK_PROGRAM_REASON_BYTES];
        int r = load(options, recording, objects), first = r;

        if (r < 0)
                r = refuse(r, ret_reason);
        /* Only programs that return from a function may be forbidden, so that this is no denial. */
        while (recording > RECORDING_NONE &&
               (r == TASK_PROGRAM_E_REFUSED ||
                (r == TASK_PROGRAM_E_DENIED && recording == RECORDING_HOOKED))) {
                last_complaint[0] = '\0';
                r = load(options, --recording, objects);
                if (r < 0) {
                        r = refuse(r, reason);
                        if (r > 0)
                                memcpy(ret_reason, reason, sizeof(reason));
                } else if (recording > RECORDING_NONE)
                        (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                        "this kernel does not take the program%s that see%s "
                                        "threads go on%s (%s)",
                                        recording == RECORDING_BARE ? "s" : "",
                                        recording == RECORDING_BARE ? "" : "s",
                                        recording == RECORDING_BARE ? " and who wakes them" : "",
                                        strerror(-first));
        }
        return r;
}

int task_program_load(const TaskProgramOptions *options, TaskObjects *ret,
                      char ret_reason[static TASK_PROGRAM_REASON_BYTES]) {
        static const TaskProgramOptions iterator_alone;
        const char *namespace;
        libbpf_print_fn_t print;
        int r, r_alone;

        ret_reason[0] = last_complaint[0] = '\0';
        *ret = TASK_OBJECTS_NONE;
        namespace = find_own_namespace();
        if (namespace) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "BPF programs see threads, clocks and cgroups as the host does, "
                                "and this is a %s namespace: run ctprofd on the host, not in a "
                                "container",
                                namespace);
                return TASK_PROGRAM_E_NAMESPACE;
        }
        print = libbpf_set_print(keep_complaint);
        r = load_most(options, ret, ret_reason);
        if (r == TASK_PROGRAM_E_REFUSED && (options->ledger || options->waits)) {
                r_alone = load(&iterator_alone, RECORDING_NONE, ret);
                if (r_alone == 0 || is_shortage(r_alone))
                        r = r_alone;
        }
        (void) libbpf_set_print(print);
        return r;
}
