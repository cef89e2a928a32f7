/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/socket-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SOCKET_FILE_MODE 0660
#define SOCKET_FILE_BACKLOG 128

struct SocketFile {
        char *path;
        struct statx identity;
};

/* Identifies the file. The birth time distinguishes two files that had the same inode number. */
static int read_identity(const char *path, struct statx *ret) {
        if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, ret) < 0)
                return -errno;
        return 0;
}

/* Only a refused connection proves that nobody listens there any more. */
static int remove_abandoned(const struct sockaddr_un *address) {
        _cleanup_(fd_closep) int fd = -EBADF;
        struct stat st;

        if (lstat(address->sun_path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISSOCK(st.st_mode))
                return -EEXIST;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) == 0 ||
            errno != ECONNREFUSED)
                return SOCKET_FILE_E_IN_USE;
        return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

int socket_file_new(const char *path, SocketFile **ret, int *ret_fd) {
        _cleanup_(fd_closep) int fd = -EBADF;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct statx identity;
        SocketFile *file;
        mode_t mask;
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return SOCKET_FILE_E_TOO_LONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        r = remove_abandoned(&address);
        if (r != 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        /* umask(2) is for the whole process, but there is one thread: no other file is made now. */
        mask = umask((mode_t) ~SOCKET_FILE_MODE & 0777);
        r = bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ? -errno : 0;
        (void) umask(mask);
        if (r < 0)
                return r;
        if (listen(fd, SOCKET_FILE_BACKLOG) < 0)
                return -errno;
        r = read_identity(path, &identity);
        if (r < 0)
                return r;

        file = malloc(sizeof(*file));
        if (!file)
                return -ENOMEM;
        *file = (SocketFile){ .path = strdup(path), .identity = identity };
        if (!file->path) {
                free(file);
                return -ENOMEM;
        }
        *ret = file;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

SocketFile *socket_file_free(SocketFile *file) {
        const struct statx *made;
        struct statx now;

        if (!file)
                return NULL;
        made = &file->identity;
        if (read_identity(file->path, &now) == 0 && made->stx_ino == now.stx_ino &&
            made->stx_dev_major == now.stx_dev_major && made->stx_dev_minor == now.stx_dev_minor &&
            (!(made->stx_mask & now.stx_mask & STATX_BTIME) ||
             (made->stx_btime.tv_sec == now.stx_btime.tv_sec &&
              made->stx_btime.tv_nsec == now.stx_btime.tv_nsec)))
                (void) unlink(file->path);
        free(file->path);
        free(file);
        return NULL;
}
