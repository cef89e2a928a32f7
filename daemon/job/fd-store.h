/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FdStore
 *
 * Holds the descriptors of kernel objects (BPF links, iterators, maps) in the main process, by
 * name. Such an object lives for as long as somebody holds a descriptor of it, and using it needs
 * no privilege: one job makes it and ends, other jobs borrow it. The service manager gets a
 * duplicate of each descriptor and hands it back with the sockets, so that objects survive a
 * restart. Objects of another version have another digest of their layout; they are closed and have
 * to be made again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"

typedef struct FdStore FdStore;

enum {
        FD_STORE_OK,
        FD_STORE_E_NOT_STORED, /* it is held here, but the service manager did not take it */
};

#define FD_STORE_NAME_MAX_CHARS 63u

/*
 * @digest identifies the layout of all objects; it follows the grammar of names, see
 * fd_store_put(), and is copied.
 */
_must_check_ int fd_store_new(const char *digest, FdStore **ret);
/* Closes all descriptors; the duplicates of the service manager stay. */
FdStore *fd_store_free(FdStore *fd_store);
DEFINE_CLEANUP(FdStore *, fd_store_free);

/*
 * Offers a descriptor that the service manager passed at the start. True if its name is one of a
 * store; then @fd is taken over: held, or closed here and there if its digest is another one.
 */
bool fd_store_adopt(FdStore *fd_store, const char *fd_name, int fd);

/*
 * Holds a duplicate of @fd as @name, in place of an earlier one. 0, FD_STORE_E_NOT_STORED, -EINVAL
 * for a name that is empty, too long, or holds more than lower-case letters, digits and hyphens,
 * -ENOSPC past LIMIT_HELD_OBJECTS. Storing sends a message to the service manager, which waits
 * while the manager's queue is full; therefore do not do this for every call.
 */
_must_check_ int fd_store_put(FdStore *fd_store, const char *name, int fd);
/* Returns a duplicate to send with a job's call; the caller owns it. -ENOENT, -errno. */
_must_check_ int fd_store_borrow(const FdStore *fd_store, const char *name);
/*
 * A file in memory to put: it keeps its size, so that it cannot grow beyond what is counted for it,
 * and no reader of it can be cut off. The caller owns it. -errno.
 */
_must_check_ int fd_store_file_new(const char *title, uint64_t n_bytes);
/* How many descriptors were closed at the start because another version had stored them. */
size_t fd_store_n_outdated(const FdStore *fd_store);
/* Closes the object here and at the service manager. */
void fd_store_drop(FdStore *fd_store, const char *name);
