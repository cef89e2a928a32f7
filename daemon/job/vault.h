/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Vault
 *
 * The descriptors of kernel objects (BPF links, iterators, maps) that the main process holds, by
 * name. Such an object lives for as long as somebody holds a descriptor of it, and needs no
 * privilege to be used: one job makes it and ends, others borrow it. The service manager gets a
 * duplicate of each, so that they survive a restart; it hands them back with the sockets. What was
 * made by another version has another digest of its layout, is closed there and begun anew.
 */

#include <stdbool.h>
#include "base/cleanup.h"
#include "base/macro.h"

typedef struct Vault Vault;

enum {
        VAULT_OK,
        VAULT_E_NOT_STORED, /* it is held, but the service manager did not take it */
};

#define VAULT_NAME_MAX_CHARS 63u

/* @digest: of the layout of all objects; copied. Of names it has the grammar, see vault_put(). */
_must_check_ int vault_new(const char *digest, Vault **ret);
/* Closes all. What the service manager holds stays there. */
Vault *vault_free(Vault *vault);
DEFINE_CLEANUP(Vault *, vault_free);

/*
 * For each descriptor the service manager passed at the start, with its name: whether it is one of
 * a vault, and then it is taken over: held, or closed for good when it has another digest.
 */
bool vault_adopt(Vault *vault, const char *fd_name, int fd);

/*
 * Holds a duplicate of @fd as @name, in place of an earlier one. 0, VAULT_E_NOT_STORED, -EINVAL for
 * a name that is empty, too long, or holds more than lower-case letters, digits and hyphens,
 * -ENOSPC past LIMIT_HELD_OBJECTS. Storing is a message to the service manager and waits while its
 * queue is full: not for every call.
 */
_must_check_ int vault_put(Vault *vault, const char *name, int fd);
/* A duplicate, the caller's: for a job's call. -ENOENT, -errno. */
_must_check_ int vault_lend(const Vault *vault, const char *name);
/* Closes it here and at the service manager. */
void vault_drop(Vault *vault, const char *name);
