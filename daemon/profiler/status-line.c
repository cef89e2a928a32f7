/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/status-line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "job/descriptor/timer.h"

#define STATUS_LINE_BYTES 256
#define STATUS_LINE_INTERVAL_NS (250 * NSEC_PER_MSEC)
#define STATUS_LINE_ACCURACY_US UINT64_C(50000)

struct StatusLine {
        sd_event_source *timer; /* runs while there is a new text to send */
        int fd;                 /* -EBADF without a service manager */
        struct sockaddr_un address;
        socklen_t n_address;
        char text[STATUS_LINE_BYTES];
};

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata) {
        StatusLine *line = userdata;

        if (sendto(line->fd, line->text, strlen(line->text), MSG_NOSIGNAL,
                   (const struct sockaddr *) &line->address, line->n_address) < 0 &&
            errno == EAGAIN)
                timer_start(source, STATUS_LINE_INTERVAL_NS);
        return 0;
}

int status_line_new(sd_event *event, StatusLine **ret) {
        _cleanup_(status_line_freep) StatusLine *line = NULL;
        const char *name = getenv("NOTIFY_SOCKET");
        size_t n = name ? strlen(name) : 0;
        int r;

        line = calloc(1, sizeof(*line));
        if (!line)
                return -ENOMEM;
        line->fd = -EBADF;
        line->address.sun_family = AF_UNIX;
        /* A path, or a name in the abstract namespace. We do not support other addresses. */
        if (n >= 2 && n < sizeof(line->address.sun_path) && (name[0] == '/' || name[0] == '@')) {
                memcpy(line->address.sun_path, name, n);
                if (name[0] == '@')
                        line->address.sun_path[0] = '\0';
                line->n_address =
                        (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '/'));
                line->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                if (line->fd < 0)
                        return -errno;
        }
        r = timer_new(event, &line->timer, "status-line", STATUS_LINE_ACCURACY_US, on_timer, line);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(line);
        return 0;
}

StatusLine *status_line_free(StatusLine *line) {
        if (!line)
                return NULL;
        sd_event_source_disable_unref(line->timer);
        line->fd = fd_close(line->fd);
        free(line);
        return NULL;
}

void status_line_set(StatusLine *line, const char *format, ...) {
        size_t n = strlen("STATUS=");
        int is_running = SD_EVENT_OFF;
        va_list arguments;

        if (line->fd < 0)
                return;
        memcpy(line->text, "STATUS=", n);
        va_start(arguments, format);
        (void) vsnprintf(line->text + n, sizeof(line->text) - n, format, arguments);
        va_end(arguments);

        (void) sd_event_source_get_enabled(line->timer, &is_running);
        if (is_running == SD_EVENT_OFF)
                timer_start(line->timer, STATUS_LINE_INTERVAL_NS);
}
