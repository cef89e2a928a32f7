/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* CODE_FILE= and CODE_LINE= would always name this file. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/cleanup.h"
#include "base/number.h"

#define LOG_LINE_BYTES 1024
#define LOG_FIELD_BYTES 256

static int max_level = LOG_INFO;
static bool to_journal;

static const char *const level_names[] = {
        [LOG_EMERG] = "emerg", [LOG_ALERT] = "alert",     [LOG_CRIT] = "crit",
        [LOG_ERR] = "err",     [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
        [LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

int log_level_parse(Span text) {
        uint32_t number;

        for (int level = 0; level < (int) ELEMENTSOF(level_names); level++)
                if (span_is(text, level_names[level]))
                        return level;
        if (span_is(text, "error"))
                return LOG_ERR;
        if (number_parse_u32(text, &number) && number < ELEMENTSOF(level_names))
                return (int) number;
        return -1;
}

void log_open(int default_level) {
        const char *text = getenv("SYSTEMD_LOG_LEVEL"), *stream = getenv("JOURNAL_STREAM");
        int level = text ? log_level_parse(span_of(text)) : -1;
        char expected[2 * NUMBER_U64_CHARS + 2];
        struct stat st;

        max_level = level >= 0 ? level : default_level;
        /* It names the device and inode of the stream; stderr may have been redirected since. */
        to_journal = false;
        if (!stream || fstat(STDERR_FILENO, &st) < 0)
                return;
        (void) snprintf(expected, sizeof(expected), "%" PRIu64 ":%" PRIu64, (uint64_t) st.st_dev,
                        (uint64_t) st.st_ino);
        to_journal = strcmp(stream, expected) == 0;
}

/* stdio may delay a line or split it; one write(2) is one line. */
static void write_stderr(const char *line) {
        char text[LOG_LINE_BYTES + 16];
        int n = snprintf(text, sizeof(text), "ctprofd: %s\n", line);

        if (n > 0)
                (void) !write(STDERR_FILENO, text, MIN_OF((size_t) n, sizeof(text) - 1));
}

void log_write(int level, int error, const LogEvent *event, const char *format, ...) {
        char message[LOG_LINE_BYTES + 16] = "MESSAGE=", *line = message + sizeof("MESSAGE=") - 1;
        char priority[16], uid[NUMBER_U64_CHARS + 1] = "", space[5][LOG_FIELD_BYTES];
        struct iovec fields[7];
        int saved = errno;
        size_t n_line, n = 2;
        va_list args;

        if (level > max_level)
                return;
        va_start(args, format);
        (void) vsnprintf(line, LOG_LINE_BYTES, format, args);
        va_end(args);
        n_line = strlen(line);
        if (error < 0)
                (void) snprintf(line + n_line, LOG_LINE_BYTES - n_line, ": %s", strerror(-error));
        if (to_journal) {
                fields[0] = (struct iovec){ message, strlen(message) };
                fields[1].iov_base = priority;
                fields[1].iov_len =
                        (size_t) snprintf(priority, sizeof(priority), "PRIORITY=%d", level);
        }
        if (to_journal && event) {
                const struct {
                        const char *key, *value; /* an absent value leaves the field out */
                } texts[] = {
                        { "MESSAGE_ID", event->message_id },
                        { "CTPROF_UID", event->uid == LOG_NO_UID ? NULL : uid },
                        { "CTPROF_METHOD", event->method },
                        { "CTPROF_SNAPSHOT", event->snapshot },
                        { "CTPROF_OLD_SNAPSHOT", event->old_snapshot },
                };

                uid[number_format_u64(event->uid, uid)] = '\0';
                for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                        int n_text = texts[i].value ? snprintf(space[i], LOG_FIELD_BYTES, "%s=%s",
                                                               texts[i].key, texts[i].value)
                                                    : -1;

                        if (n_text >= 0)
                                fields[n++] = (struct iovec){
                                        .iov_base = space[i],
                                        .iov_len = MIN_OF((size_t) n_text,
                                                          (size_t) LOG_FIELD_BYTES - 1),
                                };
                }
        }
        /* When journald is down its stream may still be buffered. */
        if (!to_journal || sd_journal_sendv(fields, (int) n) < 0)
                write_stderr(line);
        errno = saved;
}

const char *log_quote(Span text, char ret[static LOG_QUOTE_BYTES]) {
        static const char digits[] = "0123456789abcdef";
        const size_t end = LOG_QUOTE_BYTES - sizeof("...\"");
        size_t n = 0;

        ret[n++] = '"';
        for (size_t i = 0; i < text.n; i++) {
                unsigned char c = (unsigned char) text.bytes[i];
                bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';

                if (n + (plain ? 1 : 4) > end) {
                        memcpy(ret + n, "...", 3);
                        n += 3;
                        break;
                }
                if (plain) {
                        ret[n++] = (char) c;
                } else {
                        ret[n++] = '\\';
                        ret[n++] = 'x';
                        ret[n++] = digits[c >> 4];
                        ret[n++] = digits[c & 15];
                }
        }
        ret[n++] = '"';
        ret[n] = '\0';
        return ret;
}

/* limits */

static bool is_over(const LogLimit *limit, const LogAllowance *allowance, uint64_t now_mono_ns) {
        return allowance->n_passed == 0 || now_mono_ns - allowance->begin_ns >= limit->interval_ns;
}

/*
 * The entry of @uid, else one whose interval is over. The lines that the latter suppressed are
 * added to the shared allowance.
 */
static LogAllowance *find_allowance(LogLimit *limit, uid_t uid, uint64_t now_mono_ns) {
        LogAllowance *unused = NULL;

        for (size_t i = 0; i < ELEMENTSOF(limit->users); i++) {
                LogAllowance *allowance = &limit->users[i];

                if (allowance->n_passed > 0 && allowance->uid == uid)
                        return allowance;
                if (!unused && is_over(limit, allowance, now_mono_ns))
                        unused = allowance;
        }
        if (!unused)
                return &limit->others;
        limit->others.n_suppressed += unused->n_suppressed;
        *unused = (LogAllowance){ .uid = uid };
        return unused;
}

bool log_limit_pass(LogLimit *limit, uid_t uid, uint64_t now_mono_ns, unsigned *ret_n_suppressed) {
        LogAllowance *allowance = find_allowance(limit, uid, now_mono_ns);

        *ret_n_suppressed = 0;
        if (is_over(limit, allowance, now_mono_ns)) {
                *ret_n_suppressed = TAKE(allowance->n_suppressed, 0);
                allowance->begin_ns = now_mono_ns;
                allowance->n_passed = 0;
        }
        if (allowance->n_passed >= limit->burst) {
                allowance->n_suppressed++;
                return false;
        }
        allowance->n_passed++;
        return true;
}

const char *log_suppressed(unsigned n, char ret[static LOG_SUPPRESSED_BYTES]) {
        ret[0] = '\0';
        if (n > 0)
                (void) snprintf(ret, LOG_SUPPRESSED_BYTES, " (%u other%s not logged)", n,
                                n == 1 ? " was" : "s were");
        return ret;
}
