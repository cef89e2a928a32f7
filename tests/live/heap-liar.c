/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Heap liar
 *
 * A program that has all the words of jemalloc, and thread-local data of its size, and is none. It
 * writes a line when it runs, and ends with its standard input.
 */

#include <stddef.h>
#include <unistd.h>

/* As jemalloc's table of names has it: is it a name, what, how many below, which, who answers. */
typedef struct Named {
        char is_named;
        const char *name;
        size_t n_children;
        const void *children;
        int (*answer)(void *thread);
} Named;

static _Thread_local size_t block[512] = { 6 };

static int answer_nothing(void *thread) {
        return thread != NULL;
}

/* What the words lead to is no function that reads a counter. */
static const Named names[] = {
        { 1, "allocated", 0, NULL, answer_nothing },
        { 1, "allocatedp", 0, NULL, answer_nothing },
        { 1, "deallocated", 0, NULL, answer_nothing },
        { 1, "deallocatedp", 0, NULL, answer_nothing },
};
static const char *const words[] = {
        "thread.allocated",
        "thread.allocatedp",
        "thread.deallocated",
        "thread.deallocatedp",
        "<jemalloc>: Error in background thread creation\n",
        "5.3.0-0-g54eaed1d8b56",
};

int main(void) {
        const Named *volatile named = names;
        const char *const *volatile word = words;
        char byte;

        block[1] = (size_t) named->name[0] + (size_t) word[1][0];
        if (write(STDOUT_FILENO, "ready\n", 6) != 6 || named->answer(block) != 1)
                return 1;
        while (read(STDIN_FILENO, &byte, 1) > 0)
                continue;
        return 0;
}
