/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cleanup
 *
 * Ownership in the type system's stead: a local variable that owns something carries its
 * destructor, and the line that gives the thing away says TAKE. Descriptors are empty at -EBADF,
 * pointers at NULL.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((__cleanup__(fn)))

/* Turns "X *x_free(X *)" into "x_freep(X **)" for _cleanup_(). */
#define DEFINE_CLEANUP(type, fn)                \
        static inline void fn##p(type *value) { \
                *value = fn(*value);            \
        }                                       \
        struct fn##_wants_a_semicolon

/* Move a value out and leave the empty one behind: the line where ownership changes hands. */
#define TAKE(variable, empty)                              \
        __extension__({                                    \
                __typeof__(variable) *from_ = &(variable); \
                __typeof__(variable) taken_ = *from_;      \
                *from_ = (empty);                          \
                taken_;                                    \
        })
#define TAKE_PTR(pointer) TAKE(pointer, NULL)
#define TAKE_FD(fd) TAKE(fd, -EBADF)

/* Closes @fd if it is one; keeps errno. Returns the empty descriptor. */
static inline int fd_close(int fd) {
        int saved = errno;

        if (fd >= 0)
                (void) close(fd);
        errno = saved;
        return -EBADF;
}
DEFINE_CLEANUP(int, fd_close);

/* free() as a cleanup for any pointer: "_cleanup_(freep) char *text = NULL;" */
static inline void freep(void *pointer) {
        void **owned = pointer;

        free(*owned);
        *owned = NULL;
}
