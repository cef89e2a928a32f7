/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "remote/host-set.h"
#include "session/complain.h"
#include "wire/message-object.h"

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

int reference_check(const char *text, const char *shown) {
        const char *complaint = reference_complaint(text);
        char quoted[QUOTE_BYTES];

        return complaint ? complain(STATUS_USAGE, "The snapshot name %s %s.", quote(shown, quoted),
                                    complaint)
                         : 0;
}

int reference_open(const char *text, Reference *ret) {
        int r = reference_check(text, text);

        if (r == 0 && snapshot_name_is_file(text))
                return reference_open_file(text, ret);
        *ret = (Reference){ .text = text, .fd = -EBADF };
        return r;
}

void reference_done(Reference *reference) {
        reference->fd = fd_close(reference->fd);
}

/* intervals */

const char *subject_find_dots(const char *text) {
        const char *dots = strstr(text, DOTS);
        size_t n = strlen(FILE_SUFFIX);
        uint64_t back;

        /* In a path dots part two snapshots only where what is in front of them can only be one. */
        for (; dots && strchr(text, '/'); dots = strstr(dots + 1, DOTS)) {
                Span front = { text, (size_t) (dots - text) };

                if ((front.n > n && memcmp(dots - n, FILE_SUFFIX, n) == 0) ||
                    snapshot_name_is_relative(front, &back) || !snapshot_name_complaint(front))
                        break;
        }
        return dots;
}

/* Names an end of an interval; @text is NULL when there was no memory for it. */
static int name_end(SubjectReference *subject, size_t i, char *text) {
        char quoted[QUOTE_BYTES];

        if (!text)
                return complain_errno(-ENOMEM, "read the name of a snapshot");
        subject->texts[i] = text;
        subject->ends[i].text = text;
        if (subject_find_dots(text))
                return complain(STATUS_USAGE,
                                "%s has more than two ends: an interval is one snapshot, \"..\" "
                                "and another.",
                                quote(subject->text, quoted));
        return 0;
}

/* Names the snapshot, or both ends of the interval, and opens nothing. 0 or an exit status. */
static int subject_name(const char *text, SubjectReference *ret) {
        const char *dots = subject_find_dots(text), *rest = dots ? dots + strlen(DOTS) : NULL;
        int r;

        *ret = SUBJECT_EMPTY;
        ret->text = ret->ends[0].text = text;
        if (!dots)
                return 0;
        ret->is_interval = true;
        r = name_end(ret, 0,
                     dots > text ? strndup(text, (size_t) (dots - text))
                                 : strdup(*rest != '\0' ? LATEST : LATEST "~1"));
        return r == 0 ? name_end(ret, 1, strdup(*rest != '\0' ? rest : LATEST)) : r;
}

int subject_open(const char *text, SubjectReference *ret) {
        int r = subject_name(text, ret);

        for (size_t i = 0; r == 0 && i < (ret->is_interval ? 2u : 1u); i++)
                r = reference_open(ret->ends[i].text, &ret->ends[i]);
        return r;
}

/* of another host */

/* Fetches the snapshot @name of the session's host. @ret keeps @label as its text. */
static int fetch(Session *session, const char *name, const char *label, Reference *ret) {
        const Reference source = { .text = name, .fd = -EBADF };
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Export", .more = true },
                .subject = name,
        };
        char quoted[QUOTE_BYTES];
        JsonWriter *writer;
        int fd, r;

        r = reference_check(name, label);
        if (r != 0)
                return r;
        if (snapshot_name_is_file(name))
                return complain(STATUS_USAGE,
                                "%s is a file, and of another host only snapshots of its spool can "
                                "be compared.",
                                quote(label, quoted));
        writer = session_call_begin(&call);
        json_write_key(writer, "snapshot");
        reference_write_json(writer, &source);
        json_write_member_text(writer, "format", format_name(FORMAT_CTPROF));
        r = session_call_one(session, &call, &reply, &fd);
        if (r == 0)
                *ret = (Reference){ .text = label, .is_file = true, .fd = fd };
        return r;
}

int subject_open_anywhere(Session *session, const char *text, SubjectReference *ret) {
        const char *colon = text + strcspn(text, ":/");
        Span name = { text, (size_t) (colon - text) };
        char complaint[HOST_SET_COMPLAINT_BYTES], quoted[QUOTE_BYTES];
        _cleanup_(host_set_done) HostSet hosts = {};
        Session far = *session;
        int r;

        /* No name in a spool has a colon, and a path has a slash in front of one. */
        if (*colon != ':')
                return subject_open(text, ret);
        *ret = SUBJECT_EMPTY;
        if (session->host)
                return complain(STATUS_USAGE, "%s names a host, and so does --host: give either.",
                                quote(text, quoted));
        r = host_set_add(&hosts, name, complaint);
        if (r < 0)
                return complain_errno(r, "read the name of a host");
        if (r != HOST_SET_OK)
                return complain(STATUS_USAGE, "%s", complaint);
        if (hosts.n != 1 || host_set_is_list(name))
                return complain(STATUS_USAGE,
                                "%s stands for several hosts: \"compare\" takes one on each side.",
                                quote(text, quoted));
        r = subject_name(colon + 1, ret);
        if (r != 0)
                return r;
        ret->text = text;
        far.host = hosts.names[0];
        far.kept = NULL;
        far.connected_fd = -EBADF;
        /* All ends are named as the user would, with the host in front, before one is fetched. */
        for (size_t i = 0; i < (ret->is_interval ? 2 : 1); i++) {
                char *label;

                if (asprintf(&label, "%s:%s", far.host, ret->ends[i].text) < 0)
                        return complain_errno(-ENOMEM, "read the name of a snapshot");
                free(ret->texts[i]);
                ret->texts[i] = label;
        }
        for (size_t i = 0; r == 0 && i < (ret->is_interval ? 2 : 1); i++)
                r = fetch(&far, strchr(ret->texts[i], ':') + 1, ret->texts[i], &ret->ends[i]);
        return r;
}

void subject_done(SubjectReference *subject) {
        for (size_t i = 0; i < ELEMENTSOF(subject->ends); i++) {
                subject->ends[i].fd = fd_close(subject->ends[i].fd);
                free(subject->texts[i]);
                subject->texts[i] = NULL;
        }
}

/* on the wire */

void subject_write_json(JsonWriter *writer, const SubjectReference *subject, int *fds,
                        size_t *n_fds) {
        size_t n_ends = subject->is_interval ? 2 : 1;

        for (size_t i = 0; i < n_ends; i++) {
                const Reference *end = &subject->ends[i];

                if (i > 0)
                        json_write_key(writer, "to");
                json_write_object(writer);
                if (end->is_file) {
                        json_write_member_u64(writer, "fileDescriptor", *n_fds);
                        json_write_member_name(writer, "label", span_of(end->text));
                        fds[(*n_fds)++] = end->fd;
                } else {
                        json_write_member_text(writer, "name", end->text);
                }
        }
        for (size_t i = 0; i < n_ends; i++)
                json_write_end(writer);
}

void reference_write_json(JsonWriter *writer, const Reference *reference) {
        const SubjectReference subject = { .ends = { *reference } };
        int fds[SUBJECT_MAX_FILES];
        size_t n_fds = 0;

        subject_write_json(writer, &subject, fds, &n_fds);
}

void reference_address_call(const Reference *reference, SessionCall *call) {
        call->endpoint = reference->is_file ? ENDPOINT_ANALYSIS : ENDPOINT_DAEMON;
        call->subject = reference->text;
        call->is_about_files = reference->is_file;
        call->request.fds = &reference->fd;
        call->request.n_fds = reference->is_file;
}

void reference_prepare_call(const Reference *reference, SessionCall *call) {
        JsonWriter *writer = session_call_begin(call);

        reference_address_call(reference, call);
        json_write_key(writer, "snapshot");
        reference_write_json(writer, reference);
}
