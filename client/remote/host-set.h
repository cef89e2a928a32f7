/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostSet
 *
 * The hosts that a user names, each as [USER@]HOST[:PORT], in the order in which they were named
 * and none of them twice. A text stands for several: commas separate names, and brackets hold
 * numbers and ranges of numbers, with their leading zeros: "web[01-40,50],db[1-3]". An IPv6 address
 * stands in brackets, too: "[::1]:2222".
 *
 * A name goes to ssh as an argument, and into names of files: it has no character that an option, a
 * shell or a path could understand.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

#define HOST_SET_MAX 4096u          /* hosts */
#define HOST_NAME_MAX_CHARS 255u    /* of one of them */
#define HOST_LIST_MAX_BYTES 524288u /* of a file with their names */

typedef struct HostSet {
        char **names; /* owned, array and texts */
        size_t n;
        size_t n_allocated;
} HostSet;

enum {
        HOST_SET_OK,
        HOST_SET_E_INVALID,    /* the complaint is a sentence about what the user typed */
        HOST_SET_E_UNREADABLE, /* it is one about the file */
};

#define HOST_SET_COMPLAINT_BYTES 1024

void host_set_done(HostSet *set);
/* Adds all hosts that @text stands for. */
_must_check_ int host_set_add(HostSet *set, Span text,
                              char ret_complaint[static HOST_SET_COMPLAINT_BYTES]);
/* The same for each line of a file, "-" for stdin; "#" begins a comment. */
_must_check_ int host_set_add_file(HostSet *set, const char *path,
                                   char ret_complaint[static HOST_SET_COMPLAINT_BYTES]);
/* True if @text is written as more than one name, even if it is one. */
bool host_set_is_list(Span text);

/*
 * Appends the shortest text that stands for @names, with ranges in brackets: "web[07,12]". A part
 * that stands for several hosts has the place of the first of them in @names.
 */
_must_check_ int host_set_fold(const char *const names[], size_t n_names, Buffer *text);

/* The parts of a name that is valid. */
typedef struct HostAddress {
        Span destination;                   /* for ssh: with the user, without brackets */
        Span port;                          /* empty: none was given */
        char text[HOST_NAME_MAX_CHARS + 1]; /* of the destination */
} HostAddress;

void host_address_parse(const char *name, HostAddress *ret);
