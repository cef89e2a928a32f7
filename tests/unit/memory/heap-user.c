/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates. It is linked in every way that programs are linked with jemalloc, for
 * test-heap-linked.c to read; nobody runs it.
 *
 * NEIGHBOUR: with thread-local memory of its own, whose alignment moves that of the allocator.
 * ASKS: with the name that the allocator has, too, as the end of a text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv);

#ifdef NEIGHBOUR
static __thread volatile char neighbour[1024] __attribute__((__aligned__(64))) = { 1 };
#endif

int main(int argc, char **argv) {
        char *volatile bytes = malloc((size_t) argc); /* which else a compiler leaves out */
        int status = bytes ? EXIT_SUCCESS : EXIT_FAILURE;

#ifdef NEIGHBOUR
        status += neighbour[argc];
#endif
#ifdef ASKS
        status += puts("thread.deallocatedp");
#endif
        free(bytes);
        return status;
}
