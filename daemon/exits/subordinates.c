/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/subordinates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"

#define SUBUID_FILE "/etc/subuid"
#define PASSWD_FILE "/etc/passwd"
#define MAX_FILE_BYTES ((size_t) 4 << 20)
#define READ_BYTES 16384u

void subordinates_done(Subordinates *subordinates) {
        free(subordinates->ranges);
        *subordinates = (Subordinates){};
}

/* Takes what stands before @end, or all there is, off the beginning of @text. */
static Span take(Span *text, char end) {
        const char *at = text->n > 0 ? memchr(text->bytes, end, text->n) : NULL;
        Span taken = { text->bytes, at ? (size_t) (at - text->bytes) : text->n };
        size_t n = taken.n + (at != NULL);

        *text = (Span){ text->bytes + n, text->n - n };
        return taken;
}

static bool take_u32(Span *text, char end, uint32_t *ret) {
        uint64_t value;

        if (!number_parse_u64(take(text, end), &value) || value > UINT32_MAX)
                return false;
        *ret = (uint32_t) value;
        return true;
}

static bool find_user(Span users, Span name, uint32_t *ret) {
        while (users.n > 0) {
                Span line = take(&users, '\n');

                if (!span_equal(take(&line, ':'), name))
                        continue;
                (void) take(&line, ':'); /* the password */
                return take_u32(&line, ':', ret);
        }
        return false;
}

int subordinates_parse(Subordinates *subordinates, Span lines, Span users) {
        while (lines.n > 0 && subordinates->n < SUBORDINATES_MAX) {
                Span line = take(&lines, '\n'), user = take(&line, ':'), digits = user;
                SubordinateRange range;
                int r;

                if (!take_u32(&digits, ':', &range.owner) && !find_user(users, user, &range.owner))
                        continue;
                if (!take_u32(&line, ':', &range.first) || !take_u32(&line, ':', &range.n))
                        continue;
                r = ARRAY_RESERVE(subordinates->ranges, subordinates->n_allocated,
                                  subordinates->n + 1);
                if (r < 0)
                        return r;
                subordinates->ranges[subordinates->n++] = range;
        }
        return 0;
}

static int read_file(const char *path, Buffer *text) {
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        char piece[READ_BYTES];
        ssize_t n = 0;
        int r = 0;

        if (fd < 0)
                return errno == ENOENT || errno == EACCES ? 0 : -errno;
        while (r == 0 && text->n < MAX_FILE_BYTES && (n = read(fd, piece, sizeof(piece))) > 0)
                r = buffer_append(text, piece, (size_t) n);
        return r == 0 && n < 0 ? -errno : r;
}

int subordinates_read(Subordinates *subordinates) {
        _cleanup_(buffer_done) Buffer lines = {}, users = {};
        int r = read_file(SUBUID_FILE, &lines);

        if (r == 0)
                r = read_file(PASSWD_FILE, &users);
        return r == 0 ? subordinates_parse(subordinates, buffer_span(&lines), buffer_span(&users))
                      : r;
}

uint32_t subordinates_find_owner(const Subordinates *subordinates, uint32_t uid) {
        for (size_t i = 0; i < subordinates->n; i++)
                if (uid - subordinates->ranges[i].first < subordinates->ranges[i].n)
                        return subordinates->ranges[i].owner;
        return uid;
}
