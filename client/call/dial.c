/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/dial.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "call/cancel.h"

#define DEFAULT_TIMEOUT_NS (30 * NSEC_PER_SEC)
#define DEFAULT_GROUP "ctprof"
#define NAME_CHARS 64

void dial_format_refusal(const char *path, int error, const char *group, const char *user,
                         bool offers_local, char ret_complaint[static DIAL_COMPLAINT_BYTES]) {
        static const char start[] = "as root, \"systemctl enable --now ctprofd.socket\" starts it";
        int n = DIAL_COMPLAINT_BYTES;

        switch (error) {
        case ENOENT:
        case ENOTDIR:
                (void) snprintf(ret_complaint, (size_t) n, "No ctprofd is at %s: %s%s.", path,
                                start, offers_local ? "; --local does without" : "");
                break;
        case ECONNREFUSED:
                (void) snprintf(ret_complaint, (size_t) n, "No ctprofd listens at %s: %s%s.", path,
                                start, offers_local ? "; --local does without" : "");
                break;
        case EACCES:
        case EPERM:
                if (group && group[0] == '\0')
                        (void) snprintf(ret_complaint, (size_t) n,
                                        "Only root may use the ctprofd at %s%s.", path,
                                        offers_local ? "; --local does without it" : "");
                else
                        (void) snprintf(ret_complaint, (size_t) n,
                                        "Only members of group %s may use the ctprofd at %s: as "
                                        "root, \"usermod -aG %s %s\", then log in again%s.",
                                        group ? group : DEFAULT_GROUP, path,
                                        group ? group : DEFAULT_GROUP, user,
                                        offers_local ? "; --local does without it" : "");
                break;
        case EAGAIN:
        case ETIMEDOUT:
                (void) snprintf(ret_complaint, (size_t) n,
                                "The ctprofd at %s is too busy to accept another client: try again "
                                "later.",
                                path);
                break;
        default:
                (void) snprintf(ret_complaint, (size_t) n, "Cannot connect to ctprofd at %s: %s.",
                                path, strerror(error));
                break;
        }
}

static int refuse(const char *path, int error, bool offers_local, char *ret_complaint) {
        const struct passwd *passwd = getpwuid(geteuid());
        char group[NAME_CHARS], user[NAME_CHARS];
        struct stat st;
        bool known = stat(path, &st) == 0;
        const struct group *owner = known && st.st_gid != 0 ? getgrgid(st.st_gid) : NULL;

        if (owner)
                (void) snprintf(group, sizeof(group), "%s", owner->gr_name);
        else if (known && st.st_gid != 0)
                (void) snprintf(group, sizeof(group), "%u", st.st_gid);
        else
                group[0] = '\0';
        if (passwd)
                (void) snprintf(user, sizeof(user), "%s", passwd->pw_name);
        else
                (void) snprintf(user, sizeof(user), "%u", geteuid());
        dial_format_refusal(path, error, known ? group : NULL, user, offers_local, ret_complaint);
        return DIAL_E_REFUSED;
}

int dial(const char *path, uint64_t timeout_ns, bool offers_local, int *ret_fd,
         char ret_complaint[static DIAL_COMPLAINT_BYTES]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_(fd_closep) int fd = -EBADF;
        struct timeval timeout;
        int r;

        if (strlen(path) >= sizeof(address.sun_path)) {
                (void) snprintf(ret_complaint, DIAL_COMPLAINT_BYTES,
                                "The path of the socket is longer than %zu bytes.",
                                sizeof(address.sun_path) - 1);
                return DIAL_E_REFUSED;
        }
        memcpy(address.sun_path, path, strlen(path) + 1);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        /* unix(7): a connect waits for room in the backlog as long as a send would. */
        timeout_ns = timeout_ns == 0 ? DEFAULT_TIMEOUT_NS : timeout_ns;
        timeout = (struct timeval){
                .tv_sec = (time_t) (timeout_ns / NSEC_PER_SEC),
                .tv_usec = (suseconds_t) (timeout_ns % NSEC_PER_SEC / NSEC_PER_USEC) + 1,
        };
        if (timeout.tv_usec >= (suseconds_t) USEC_PER_SEC)
                timeout.tv_usec = USEC_PER_SEC - 1;
        (void) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
        /* signal(7): with a timeout set, coming back from a stop interrupts it, too. */
        do
                r = connect(fd, (const struct sockaddr *) &address, sizeof(address));
        while (r < 0 && errno == EINTR && !cancel_requested());
        if (r < 0 && errno == EINTR)
                return DIAL_E_CANCELLED;
        if (r < 0)
                return refuse(path, errno, offers_local, ret_complaint);
        *ret_fd = TAKE_FD(fd);
        return 0;
}
