/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * ctprofctl with a daemon that answers anything. The first letter of the input chooses the command
 * line, the second the terminal; from the next line on stands what is answered (fake-peer.h).
 *
 * Whatever that is, it ends in a status with a sentence or in a result; nothing that is printed can
 * move a cursor; JSON and NDJSON are strict JSON, each row of CSV has the cells of the first, and
 * no text of the data ends its element of an HTML page. No descriptor is left.
 *
 * Aims at: client/call/connection.c, client/session/session.c, client/verb/dispatch.c,
 *          client/session/complain.c, client/report/group-view.c,
 *          client/report/group/account-cell.c, client/report/group/group-columns.c,
 *          client/report/group/group-table.c, client/report/group/one-sided.c,
 *          client/report/overview/overview.c, client/report/overview/missing.c,
 *          client/report/row-writer.c,
 *          client/report/section/section-row.c, client/report/section/section-tables.c,
 *          client/report/sink-html.c, client/report/sink-json.c, client/report/sink-rows.c,
 *          client/report/sink-text.c, client/session/snapshot-set.c, client/verb/verb-capture.c,
 *          client/verb/verb-record.c, client/report/stack-report.c, client/stack/stack-profile.c,
 *          client/stack/stack-store.c, client/stack/stack-text.c, client/html/flame-page.c,
 *          client/verb/verb-view.c, client/verb/verb-export.c, client/verb/verb-info.c,
 *          client/verb/verb-list.c, client/verb/verb-metric-list.c, client/verb/verb-spool.c,
 *          client/verb/verb-status.c, client/verb/verb-verify.c, client/verb/verb-view.c,
 *          client/html/html-data.c, client/html/html-page.c, client/render/cell.c,
 *          client/render/json-out.c, client/render/lines.c, client/render/printable.c,
 *          client/render/progress.c, client/render/quantity.c, client/render/table.c,
 *          client/render/when.c
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fake-peer.h"
#include "fuzz.h"
#include "json/json-scanner.h"
#include "plain.h"
#include "session/complain.h"
#include "verb/verb.h"

#define MAX_WORDS 24
#define EXPORTED "fuzz-reply.exported"
#define REDRAW "\r\033[K"
#define DATA_BEGIN "<script type=\"application/json\" class=\"data\">"
#define DATA_END "</script>"

typedef enum Form { FORM_TEXT, FORM_JSON, FORM_NDJSON, FORM_CSV, FORM_HTML } Form;

static const struct {
        char letter;
        Form form;
        const char *words; /* separated by blanks */
} commands[] = {
        { 'a', FORM_TEXT, "list" },
        { 'b', FORM_JSON, "list --json=short" },
        { 'c', FORM_TEXT, "status" },
        { 'd', FORM_JSON, "status --json=pretty" },
        { 'e', FORM_TEXT, "info x" },
        { 'f', FORM_JSON, "info x --json=pretty" },
        { 'g', FORM_TEXT, "show x" },
        { 'h', FORM_JSON, "show x --json=short" },
        { 'i', FORM_CSV, "show x --format csv" },
        { 'j', FORM_NDJSON, "show x --format ndjson" },
        { 'k', FORM_HTML, "show x --format html" },
        { 'l', FORM_TEXT, "compare a b" },
        { 'm', FORM_JSON, "compare a b --json=pretty" },
        { 'n', FORM_CSV, "compare a b --format csv" },
        { 'o', FORM_NDJSON, "compare a b --format ndjson" },
        { 'p', FORM_HTML, "compare a b --format html" },
        { 'q', FORM_TEXT, "compare a b --columns +top,p50,p99,uptime,tags,unit --all-rows --wrap" },
        { 'r', FORM_TEXT, "compare a b --group-by cgroup --raw --window --threshold 5" },
        { 's', FORM_TEXT, "compare a b --group-by all --limit 2" },
        { 't', FORM_TEXT, "show x --group-by thread --columns group,tags,value" },
        { 'u', FORM_TEXT, "verify x y" },
        { 'v', FORM_JSON, "verify --all --json=short" },
        { 'w', FORM_TEXT, "metric-list" },
        { 'x', FORM_JSON, "metric-list --json=short" },
        { 'y', FORM_TEXT, "remove a b" },
        { 'z', FORM_TEXT, "rename a b" },
        { 'A', FORM_TEXT, "capture --tag t" },
        { 'B', FORM_JSON, "capture --json=short" },
        { 'C', FORM_TEXT, "compare --before a*,c --after b*" },
        { 'D', FORM_JSON, "compare --before a* --after b* --json=short" },
        { 'E', FORM_CSV, "compare --before a1,a2 --after b1,b2 --format csv" },
        { 'F', FORM_NDJSON, "compare --before a1,a2 --after b1,b2 --format ndjson" },
        { 'G', FORM_TEXT, "compare --before a1,a2 --after b1,b2 --all-rows" },
        { 'H', FORM_TEXT, "export x " EXPORTED },
        { 'I', FORM_JSON, "rename a b --json=short" },
        { 'J', FORM_TEXT, "list --since -2h --no-legend" },
        { 'K', FORM_TEXT, "record --tag r --for 1s" },
        { 'L', FORM_JSON, "record --for 1s --json=short" },
        { 'M', FORM_TEXT, "show x --stacks" },
        { 'N', FORM_JSON, "show x --stacks --json=pretty" },
        { 'O', FORM_TEXT, "show x --format folded" },
        { 'P', FORM_JSON, "show x --format speedscope" },
};

/* the terminal, by the second letter */

static Terminal terminal_of(uint8_t letter) {
        static const Terminal terminals[] = {
                { .out = false },
                { .out = true, .columns = 80 },
                { .out = true, .columns = 20 },
                { .err = true, .columns = 40 },
                { .out = true, .err = true, .columns = 132 },
        };

        return terminals[(uint8_t) (letter - '0') % ELEMENTSOF(terminals)];
}

/* what is printed */

typedef struct Printed {
        char *bytes;
        size_t n;
        FILE *file;
} Printed;

static void printed_open(Printed *printed) {
        printed->file = open_memstream(&printed->bytes, &printed->n);
        fuzz_expect(printed->file, "memory");
}

static void printed_close(Printed *printed) {
        (void) fclose(printed->file);
}

static Span printed_text(const Printed *printed) {
        return (Span){ printed->bytes, printed->n };
}

static Span next_line(Span *rest) {
        const char *end = memchr(rest->bytes, '\n', rest->n);
        Span line = { rest->bytes, end ? (size_t) (end - rest->bytes) : rest->n };
        size_t n = line.n + (end ? 1 : 0);

        *rest = (Span){ rest->bytes + n, rest->n - n };
        return line;
}

/* Progress is drawn over itself; else there are lines. */
static void check_complaints(const Printed *err, int status, const Terminal *terminal) {
        Span rest = printed_text(err);
        size_t n_lines = 0;

        while (rest.n > 0) {
                Span line = next_line(&rest);

                while (terminal->err && line.n >= strlen(REDRAW)) {
                        const char *redraw = memmem(line.bytes, line.n, REDRAW, strlen(REDRAW));
                        size_t n;

                        if (!redraw)
                                break;
                        n = (size_t) (redraw - line.bytes);
                        expect_plain((Span){ line.bytes, n }, '\0', "progress");
                        n += strlen(REDRAW);
                        line = (Span){ line.bytes + n, line.n - n };
                }
                expect_plain(line, '\0', "stderr");
                n_lines += line.n > 0;
        }
        fuzz_expect(status == STATUS_DONE || status == STATUS_ABOVE || n_lines > 0,
                    "a failure is said");
}

static bool is_json(Span text) {
        const JsonLimits limits = { .max_depth = 64, .max_token_bytes = text.n };

        return json_check(text, &limits) == 0;
}

/* Cells of one row of CSV; commas within quotes do not count. */
static size_t count_cells(Span line) {
        bool in_quotes = false;
        size_t n = 1;

        for (size_t i = 0; i < line.n; i++) {
                if (line.bytes[i] == '"')
                        in_quotes = !in_quotes;
                n += !in_quotes && line.bytes[i] == ',';
        }
        fuzz_expect(!in_quotes, "quotes of a row are closed");
        return n;
}

static void check_csv(Span rest) {
        size_t n_cells = 0;

        while (rest.n > 0) {
                Span line = next_line(&rest);

                fuzz_expect(line.n > 0 && line.bytes[line.n - 1] == '\r', "a row ends in CRLF");
                line.n--;
                expect_plain(line, '\0', "a row");
                fuzz_expect(n_cells == 0 || count_cells(line) == n_cells,
                            "a row has the cells of the first");
                n_cells = count_cells(line);
        }
}

static void check_ndjson(Span rest) {
        while (rest.n > 0) {
                Span line = next_line(&rest);

                fuzz_expect(is_json(line), "a row is strict JSON: %.*s", (int) line.n, line.bytes);
        }
}

static void check_html(Span page) {
        const char *begin, *end;

        while ((begin = memmem(page.bytes, page.n, DATA_BEGIN, strlen(DATA_BEGIN)))) {
                Span piece;

                begin += strlen(DATA_BEGIN);
                page = (Span){ begin, page.n - (size_t) (begin - page.bytes) };
                end = memmem(page.bytes, page.n, DATA_END, strlen(DATA_END));
                fuzz_expect(end, "an element of data ends");
                piece = (Span){ page.bytes, (size_t) (end - page.bytes) };
                fuzz_expect(is_json(piece), "data are strict JSON: %.*s", (int) piece.n,
                            piece.bytes);
                fuzz_expect(!memchr(piece.bytes, '<', piece.n), "nothing in them begins a tag");
                page = (Span){ end, page.n - piece.n };
        }
}

static void check_result(const Printed *out, Form form, bool is_whole) {
        Span text = printed_text(out);

        if (form != FORM_CSV)
                expect_plain(text, '\n', "stdout");
        switch (form) {
        case FORM_TEXT:
                break;
        case FORM_JSON:
                fuzz_expect(!is_whole || is_json(text), "the result is strict JSON: %.*s",
                            (int) text.n, text.bytes);
                break;
        case FORM_NDJSON:
                if (is_whole)
                        check_ndjson(text);
                break;
        case FORM_CSV:
                if (is_whole)
                        check_csv(text);
                break;
        case FORM_HTML:
                if (is_whole)
                        check_html(text);
                break;
        }
}

/* a run */

static int run_words(const char *words) {
        char copy[256], *argv[MAX_WORDS + 1], *rest = copy, *word;
        char program[] = "ctprofctl", no_pager[] = "--no-pager";
        int argc = 0;

        (void) snprintf(copy, sizeof(copy), "%s", words);
        argv[argc++] = program;
        argv[argc++] = no_pager;
        while ((word = strsep(&rest, " ")))
                argv[argc++] = word;
        argv[argc] = NULL;
        return dispatch(argc, argv);
}

static void run(size_t command, const Terminal *terminal, Span script) {
        FILE *real_stdout = stdout, *real_stderr = stderr;
        Printed out = {}, err = {};
        int status;

        fake_peer_begin(script, terminal);
        printed_open(&out);
        printed_open(&err);
        stdout = out.file;
        stderr = err.file;
        status = run_words(commands[command].words);
        stdout = real_stdout;
        stderr = real_stderr;
        printed_close(&out);
        printed_close(&err);
        fake_peer_end();
        (void) unlink(EXPORTED);

        check_complaints(&err, status, terminal);
        check_result(&out, commands[command].form, status == STATUS_DONE || status == STATUS_ABOVE);
        free(out.bytes);
        free(err.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        char letter = (char) fuzz_take_u8(&input);
        Terminal terminal = terminal_of(fuzz_take_u8(&input));
        static bool has_zone;
        size_t command = 0;

        if (!has_zone)
                has_zone = setenv("TZ", "UTC", 1) == 0;
        while (command < ELEMENTSOF(commands) && commands[command].letter != letter)
                command++;
        if (command == ELEMENTSOF(commands))
                return 0;
        (void) fuzz_take_until(&input, '\n');
        run(command, &terminal, fuzz_take_rest(&input));
        return 0;
}
