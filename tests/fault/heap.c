/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault-heap.so
 *
 * Preloaded, it lets one allocation of ctprofd or of its jobs fail, and lists where allocations
 * come from. The plan is a file that $CTPROF_FAULT_HEAP names, mapped by everybody, also by the
 * jobs that may open nothing any more; heap.py is its other side.
 *
 * The allocator of glibc calls itself by these names too, so that strdup(3), asprintf(3) or
 * opendir(3) fail as well. Memory is given back to it as ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROLE_BYTES 16
#define SITE_BYTES 80
#define MAX_SITES 32768

typedef struct Plan {
        char role[ROLE_BYTES]; /* of the processes that are meant; "" for none */
        uint64_t nth, count; /* which of their allocations fails, and how many from there; 0: all */
        _Atomic uint64_t n_seen, n_fired;
        _Atomic uint64_t n_sites;
        uint64_t lists;                    /* whether sites are wanted */
        char sites[MAX_SITES][SITE_BYTES]; /* "ROLE OBJECT+OFFSET", the first that failed in [0] */
} Plan;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *memory, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static Plan *plan;
static char own_role[ROLE_BYTES];

static void find_role(int argc, char *argv[]) {
        const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;

        name = name ? name + 1 : argc > 0 ? argv[0] : "";
        if (strcmp(name, "ctprofd") != 0)
                return;
        (void) snprintf(own_role, sizeof(own_role), "main");
        for (int i = 1; i < argc; i++)
                if (strncmp(argv[i], "--job=", 6) == 0)
                        (void) snprintf(own_role, sizeof(own_role), "%s", argv[i] + 6);
}

__attribute__((constructor)) static void open_plan(int argc, char *argv[], char *environment[]) {
        const char *path = getenv("CTPROF_FAULT_HEAP");
        void *memory;
        int fd;

        find_role(argc, argv);
        if (!path || own_role[0] == '\0')
                return;
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return;
        memory = mmap(NULL, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void) close(fd);
        if (memory != MAP_FAILED)
                plan = memory;
}

static void describe(void *caller, char ret[static SITE_BYTES]) {
        Dl_info where = {};
        const char *name = "?", *slash;

        if (dladdr(caller, &where) && where.dli_fname) {
                slash = strrchr(where.dli_fname, '/');
                name = slash ? slash + 1 : where.dli_fname;
        }
        (void) snprintf(ret, SITE_BYTES, "%s %.40s+0x%lx", own_role, name,
                        (unsigned long) caller - (unsigned long) where.dli_fbase);
}

static bool is_due(void *caller) {
        uint64_t turn, site;

        if (!plan || strcmp(plan->role, own_role) != 0)
                return false;
        turn = atomic_fetch_add(&plan->n_seen, 1) + 1;
        if (plan->lists) {
                site = atomic_fetch_add(&plan->n_sites, 1);
                if (site < MAX_SITES)
                        describe(caller, plan->sites[site]);
                return false;
        }
        if (turn < plan->nth || (plan->count != 0 && turn >= plan->nth + plan->count))
                return false;
        if (atomic_fetch_add(&plan->n_fired, 1) == 0)
                describe(caller, plan->sites[0]);
        errno = ENOMEM;
        return true;
}

void *malloc(size_t n) {
        return is_due(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each) {
        return is_due(__builtin_return_address(0)) ? NULL : __libc_calloc(n, each);
}

void *realloc(void *memory, size_t n) {
        /* Making it smaller never fails in practice, but it may. */
        return is_due(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, n);
}

void *reallocarray(void *memory, size_t n, size_t each) {
        size_t n_bytes;

        if (__builtin_mul_overflow(n, each, &n_bytes)) {
                errno = ENOMEM;
                return NULL;
        }
        return is_due(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, n_bytes);
}

void *memalign(size_t alignment, size_t n);

void *memalign(size_t alignment, size_t n) {
        return is_due(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
        return is_due(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **ret, size_t alignment, size_t n) {
        void *memory = is_due(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);

        if (!memory)
                return ENOMEM;
        *ret = memory;
        return 0;
}
