/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/name.h"
#include "session/complain.h"

#define LATEST "latest"

const char *reference_complaint(const char *text) {
        uint64_t back;

        if (snapshot_name_is_file(text) || snapshot_name_is_relative(span_of(text), &back))
                return NULL;
        if (strncmp(text, LATEST "~", strlen(LATEST "~")) == 0)
                return "is not " LATEST "~ and a number, as " LATEST "~1 is";
        return snapshot_name_complaint(span_of(text));
}

int reference_open_file(const char *path, Reference *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char quoted[QUOTE_BYTES];
        struct stat st;

        /* O_NONBLOCK, so that a FIFO is refused instead of blocking. */
        fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return complain(STATUS_FAILED, "%s cannot be opened: %s.", quote(path, quoted),
                                strerror(errno));
        if (!S_ISREG(st.st_mode))
                return complain(STATUS_FAILED, "%s is not a snapshot: it is %s.",
                                quote(path, quoted),
                                S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
        *ret = (Reference){ .text = path, .is_file = true, .fd = TAKE_FD(fd) };
        return 0;
}

int reference_open(const char *text, Reference *ret) {
        const char *complaint = reference_complaint(text);
        char quoted[QUOTE_BYTES];

        if (complaint)
                return complain(STATUS_USAGE, "The snapshot name %s %s.", quote(text, quoted),
                                complaint);
        if (snapshot_name_is_file(text))
                return reference_open_file(text, ret);
        *ret = (Reference){ .text = text, .fd = -EBADF };
        return 0;
}

void reference_done(Reference *reference) {
        reference->fd = fd_close(reference->fd);
}

void reference_write_json(JsonWriter *writer, const Reference *reference, size_t fd_index) {
        json_write_object(writer);
        if (reference->is_file) {
                json_write_member_u64(writer, "fileDescriptor", fd_index);
                json_write_member_name(writer, "label", span_of(reference->text));
        } else {
                json_write_member_text(writer, "name", reference->text);
        }
        json_write_end(writer);
}

void reference_prepare_call(const Reference *reference, SessionCall *call) {
        JsonWriter *writer = session_call_begin(call);

        json_write_key(writer, "snapshot");
        reference_write_json(writer, reference, 0);
        call->endpoint = reference->is_file ? ENDPOINT_ANALYSIS : ENDPOINT_DAEMON;
        call->subject = reference->text;
        call->is_about_files = reference->is_file;
        call->request.fds = &reference->fd;
        call->request.n_fds = reference->is_file;
}
