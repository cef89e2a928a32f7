/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/name.h"
#include "session/complain.h"

#define LATEST "latest"
#define DOTS ".."
#define FILE_SUFFIX ".zst"

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

/* intervals */

/* Whether the text in front of dots, in a text with a slash, can only be a snapshot. */
static bool ends_snapshot(Span front) {
        size_t n = strlen(FILE_SUFFIX);
        uint64_t back;

        return (front.n > n && memcmp(front.bytes + front.n - n, FILE_SUFFIX, n) == 0) ||
               snapshot_name_is_relative(front, &back) || !snapshot_name_complaint(front);
}

const char *subject_find_dots(const char *text) {
        const char *dots = strstr(text, DOTS);

        if (!strchr(text, '/'))
                return dots;
        while (dots && !ends_snapshot((Span){ text, (size_t) (dots - text) }))
                dots = strstr(dots + 1, DOTS);
        return dots;
}

/* Opens one end of an interval; @text is NULL when there was no memory for it. */
static int open_end(const SubjectReference *subject, const char *text, Reference *ret) {
        char quoted[QUOTE_BYTES];

        if (!text)
                return complain_errno(-ENOMEM, "read the name of a snapshot");
        if (subject_find_dots(text))
                return complain(STATUS_USAGE,
                                "%s has more than two ends: an interval is one snapshot, \"..\" "
                                "and another.",
                                quote(subject->text, quoted));
        return reference_open(text, ret);
}

static int open_interval(SubjectReference *subject, const char *dots) {
        const char *rest = dots + strlen(DOTS);
        size_t n = (size_t) (dots - subject->text);
        int r;

        subject->is_interval = true;
        if (n > 0)
                subject->texts[0] = strndup(subject->text, n);
        else
                subject->texts[0] = strdup(*rest != '\0' ? LATEST : LATEST "~1");
        subject->texts[1] = strdup(*rest != '\0' ? rest : LATEST);
        r = open_end(subject, subject->texts[0], &subject->ends[0]);
        return r == 0 ? open_end(subject, subject->texts[1], &subject->ends[1]) : r;
}

int subject_open(const char *text, SubjectReference *ret) {
        const char *dots = subject_find_dots(text);

        *ret = SUBJECT_EMPTY;
        ret->text = text;
        return dots ? open_interval(ret, dots) : reference_open(text, &ret->ends[0]);
}

void subject_done(SubjectReference *subject) {
        for (size_t i = 0; i < ELEMENTSOF(subject->ends); i++) {
                reference_done(&subject->ends[i]);
                free(subject->texts[i]);
                subject->texts[i] = NULL;
        }
}

bool subject_is_of_files(const SubjectReference *subject) {
        return subject->ends[0].is_file && (!subject->is_interval || subject->ends[1].is_file);
}

/* on the wire */

static void write_members(JsonWriter *writer, const Reference *reference, size_t fd_index) {
        if (reference->is_file) {
                json_write_member_u64(writer, "fileDescriptor", fd_index);
                json_write_member_name(writer, "label", span_of(reference->text));
        } else {
                json_write_member_text(writer, "name", reference->text);
        }
}

void subject_write_json(JsonWriter *writer, const SubjectReference *subject, int *fds,
                        size_t *n_fds) {
        size_t n_ends = subject->is_interval ? 2 : 1;

        for (size_t i = 0; i < n_ends; i++) {
                const Reference *end = &subject->ends[i];

                if (i > 0)
                        json_write_key(writer, "to");
                json_write_object(writer);
                write_members(writer, end, *n_fds);
                if (end->is_file)
                        fds[(*n_fds)++] = end->fd;
        }
        for (size_t i = 0; i < n_ends; i++)
                json_write_end(writer);
}

void reference_write_json(JsonWriter *writer, const Reference *reference, size_t fd_index) {
        json_write_object(writer);
        write_members(writer, reference, fd_index);
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
