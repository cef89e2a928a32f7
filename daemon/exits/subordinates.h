/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Subordinates
 *
 * Whose a uid is that was lent to a user for user namespaces (subuid(5)). A message of taskstats
 * has the uid of a thread and no namespace, so that this tells who answers for it; a program sees
 * the namespace itself (owner.bpf.h).
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define SUBORDINATES_MAX 4096u /* ranges; more are not looked at */

typedef struct SubordinateRange {
        uint32_t first, n, owner;
} SubordinateRange;

/* Empty when zeroed. */
typedef struct Subordinates {
        SubordinateRange *ranges; /* owned */
        size_t n, n_allocated;
} Subordinates;

void subordinates_done(Subordinates *subordinates);
/*
 * Takes the lines of a file as /etc/subuid. A user is called by uid, or by a name that @users
 * knows, in the form of /etc/passwd. Lines that say something else are skipped. -ENOMEM.
 */
_must_check_ int subordinates_parse(Subordinates *subordinates, Span lines, Span users);
/* The files of this host, as far as they are there. -errno. */
_must_check_ int subordinates_read(Subordinates *subordinates);
/* @uid where it is lent to nobody. */
uint32_t subordinates_find_owner(const Subordinates *subordinates, uint32_t uid);
