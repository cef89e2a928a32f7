/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SocketFile
 *
 * A listening socket in the file system, made without systemd. Removing it leaves a file alone that
 * somebody has put in its place.
 */

#include "base/macro.h"

typedef struct SocketFile SocketFile;

enum {
        SOCKET_FILE_OK,
        SOCKET_FILE_E_IN_USE,   /* another process listens there */
        SOCKET_FILE_E_TOO_LONG, /* a path for a socket has 107 bytes at most */
};

/* Listens with mode 0660, in place of a socket file that nobody listens to. @path is copied. */
_must_check_ int socket_file_new(const char *path, SocketFile **ret, int *ret_fd);
/* Removes the file. */
SocketFile *socket_file_free(SocketFile *file);
