/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <malloc.h>
#include <stdio.h>

#include "document.h"
#include "document/table-reader.h"

/*
 * A kind of document of the test's own, beside the snapshot's: two tables that have nothing to do
 * with threads, and a map between them.
 */

enum { EXITS_NAME, EXITS_COUNT, EXITS_LIFE, N_EXITS_COLUMNS };
static const char *const exits_columns[] = { "name", "exits", "life_ns" };

typedef struct ExitsRow {
        JsonScanner *scanner;
        char name[64];
        uint64_t values[N_EXITS_COLUMNS];
        bool has[N_EXITS_COLUMNS];
} ExitsRow;

typedef struct Ledger {
        DocumentReader document;
        TableReader table;
        ExitsRow row;
        uint64_t n_exits, sum, n_stacks, n_entries;
} Ledger;

static const char *exits_column_name(unsigned column) {
        return exits_columns[column];
}

static unsigned exits_find_column(Span name) {
        unsigned column = 0;

        while (column < N_EXITS_COLUMNS && !span_is(name, exits_columns[column]))
                column++;
        return column;
}

static void exits_begin(void *userdata) {
        ExitsRow *row = userdata;

        *row = (ExitsRow){ .scanner = row->scanner };
}

static int exits_cell(void *userdata, unsigned column, JsonToken token) {
        ExitsRow *row = userdata;
        Span text;

        row->has[column] = true;
        if (column == EXITS_NAME) {
                if (token != JSON_TOKEN_STRING)
                        return json_scanner_fail(row->scanner, "a string is expected");
                text = row->scanner->string;
                (void) snprintf(row->name, sizeof(row->name), "%.*s", (int) text.n, text.bytes);
                return 0;
        }
        if (token != JSON_TOKEN_INTEGER)
                return json_scanner_fail(row->scanner, "an integer is expected");
        row->values[column] = row->scanner->number.magnitude;
        return 0;
}

static int exits_end(void *userdata) {
        ExitsRow *row = userdata;

        return row->has[EXITS_NAME] ? 0 : json_scanner_fail(row->scanner, "a name is missing");
}

static const TableRows exits_rows = {
        .n_columns = N_EXITS_COLUMNS,
        .column_name = exits_column_name,
        .find_column = exits_find_column,
        .begin = exits_begin,
        .cell = exits_cell,
        .end = exits_end,
};

static int begin_exits(void *userdata, DocumentReader *document) {
        Ledger *ledger = userdata;
        JsonToken token;
        int r;

        r = json_scanner_next(document->scanner, &token);
        if (r != 0)
                return r;
        ledger->row.scanner = document->scanner;
        return table_reader_begin(&ledger->table, document, token, &exits_rows, &ledger->row, 0);
}

static int next_exits(void *userdata, DocumentReader *document, bool *ret_more) {
        Ledger *ledger = userdata;

        return table_reader_next(&ledger->table, document, ret_more);
}

static void write_exits_columns(JsonWriter *writer) {
        for (size_t i = 0; i < N_EXITS_COLUMNS; i++)
                json_write_text(writer, exits_columns[i]);
}

static int next_frame(void *userdata, DocumentReader *document, bool *ret_more) {
        Ledger *ledger = userdata;
        Span name, json;
        int r;

        r = document_entry(document, "a frame is there twice", &name, &json);
        *ret_more = r == 0 && name.bytes;
        ledger->n_entries += *ret_more;
        return r;
}

enum { EXITS, FRAMES, STACKS, N_SECTIONS };
static const DocumentSection sections[] = {
        [EXITS] = { "dead", DOCUMENT_TABLE, write_exits_columns, begin_exits, next_exits },
        [FRAMES] = { "frames", DOCUMENT_MAP, NULL, document_map, next_frame },
        [STACKS] = { "stacks", DOCUMENT_TABLE, write_exits_columns, begin_exits, next_exits },
};

static int skip_member(void *userdata, DocumentReader *document, Span key) {
        return json_scanner_skip(document->scanner);
}

static int end_ledger(void *userdata, DocumentReader *document) {
        Ledger *ledger = userdata;

        return ledger->n_exits < 1000000 ? 0 : document_fail(document, "too many exits");
}

static const DocumentKind kind = {
        .sections = sections,
        .n_sections = N_SECTIONS,
        .member = skip_member,
        .end = end_ledger,
};

/* Reads a whole document; at most @chunk bytes at a time. */
static int ledger_read(Ledger *ledger, JsonRefill refill, void *userdata) {
        const DocumentSection *section;
        int r;

        *ledger = (Ledger){ .n_exits = 0 };
        r = document_reader_init(&ledger->document, &kind, ledger, refill, userdata, 0);
        while (r == 0) {
                r = document_reader_next(&ledger->document, &section);
                if (r != 0 || !section)
                        break;
                if (section != &sections[FRAMES])
                        ledger->sum += ledger->row.values[EXITS_COUNT];
                ledger->n_exits += section == &sections[EXITS];
                ledger->n_stacks += section == &sections[STACKS];
        }
        return r;
}

static void ledger_done(Ledger *ledger) {
        table_reader_done(&ledger->table);
        document_reader_done(&ledger->document);
}

static int ledger_read_text(Ledger *ledger, const char *text, size_t chunk) {
        DocumentStream stream = { span_of(text), chunk };

        return ledger_read(ledger, document_refill, &stream);
}

static const char whole[] =
        "{\"unknown\":[{}],"
        "\"dead\":{\"columns\":[\"exits\",\"later\",\"name\"],"
        "\"rows\":[[1,{\"a\":[]},\"x\"],[null,null,\"y\"],[4,0,\"z\"]],\"more\":1},"
        "\"frames\":{\"a\":{},\"b\":{\"at\":1}},"
        "\"stacks\":{\"columns\":[\"name\",\"exits\",\"life_ns\"],\"rows\":[[\"s\",10,2]]}}";

START_TEST(tables_of_one_document_are_read_row_by_row) {
        static const size_t chunks[] = { 1, 2, 7, SIZE_MAX };
        Ledger ledger;

        for (size_t i = 0; i < ELEMENTSOF(chunks); i++) {
                ck_assert_int_eq(ledger_read_text(&ledger, whole, chunks[i]), 0);
                ck_assert_uint_eq(ledger.n_exits, 3);
                ck_assert_uint_eq(ledger.n_stacks, 1);
                ck_assert_uint_eq(ledger.n_entries, 2);
                ck_assert_uint_eq(ledger.sum, 15);
                ck_assert_str_eq(ledger.row.name, "s");
                ledger_done(&ledger);
        }
}
END_TEST

START_TEST(the_caller_gets_each_row_before_the_next_is_read) {
        static const char *const names[] = { "x", "y", "z", "", "", "s" };
        DocumentStream stream = { span_of(whole), SIZE_MAX };
        Ledger ledger = { .n_exits = 0 };
        const DocumentSection *section;

        ck_assert_int_eq(
                document_reader_init(&ledger.document, &kind, &ledger, document_refill, &stream, 0),
                0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                ck_assert_int_eq(document_reader_next(&ledger.document, &section), 0);
                ck_assert_ptr_eq(section, &sections[i < 3 ? EXITS : i < 5 ? FRAMES : STACKS]);
                if (names[i][0] != '\0')
                        ck_assert_str_eq(ledger.row.name, names[i]);
                ck_assert(ledger.row.has[EXITS_COUNT] == (i != 1));
        }
        for (size_t i = 0; i < 2; i++) {
                ck_assert_int_eq(document_reader_next(&ledger.document, &section), 0);
                ck_assert_ptr_null(section);
        }
        ledger_done(&ledger);
}
END_TEST

#define TABLE(rest) "{\"stacks\":{\"columns\":[\"name\",\"exits\"]," rest

static const struct {
        const char *text;
        const char *complaint;
} refused[] = {
        { "[]", "an object is expected" },
        { "{} 1", "nothing is expected behind the value" },
        { "{\"dead\":null}", "dead: an object with columns and rows is expected" },
        { "{\"dead\":[]}", "dead: an object with columns and rows is expected" },
        { "{\"dead\":{}}", "dead: a table must have columns and rows" },
        { "{\"dead\":{\"columns\":[]}}", "dead: a table must have columns and rows" },
        { "{\"dead\":{\"rows\":[]}}", "dead: the columns must come before the rows" },
        { "{\"dead\":{\"columns\":[1]}}", "dead: the name of a column is expected" },
        { "{\"dead\":{\"columns\":[\"name\",\"name\"]}}", "dead: a column is listed twice" },
        { "{\"dead\":{\"columns\":[\"q\",\"name\",\"q\"]}}", "dead: a column is listed twice" },
        { TABLE("\"rows\":[{}]}}"), "stacks: a row must be an array" },
        { TABLE("\"rows\":[[\"a\",1],[\"b\"]]}}"),
          "stacks, number 2, exits: the row has fewer cells than there are columns" },
        { TABLE("\"rows\":[[\"a\",1,2]]}}"),
          "stacks, number 1: the row has more cells than there are columns" },
        { TABLE("\"rows\":[[1,1]]}}"), "stacks, number 1, name: a string is expected" },
        { TABLE("\"rows\":[[\"a\",\"b\"]]}}"), "stacks, number 1, exits: an integer is expected" },
        { TABLE("\"rows\":[[null,2]]}}"), "stacks, number 1: a name is missing" },
        { TABLE("\"rows\":[],\"rows\":[]}}"), "stacks: duplicate member \"rows\"" },
        { "{\"frames\":{\"a\":{},\"a\":{}}}", "frames: duplicate member \"a\"" },
        { "{\"frames\":{\"a\":1}}", "frames: an object is expected" },
        { "{\"frames\":{\"a\":{\"n\":1e3}}}", "frames: a number within is not a 64-bit integer" },
        { "{\"dead\":{\"columns\":[],\"rows\":[]},\"dead\":1}", "duplicate member \"dead\"" },
};

START_TEST(a_table_is_as_strict_as_that_of_threads) {
        Ledger ledger;

        ck_assert_int_eq(ledger_read_text(&ledger, refused[_i].text, SIZE_MAX), JSON_E_MALFORMED);
        ck_assert_str_eq(ledger.document.complaint, refused[_i].complaint);
        ledger_done(&ledger);
}
END_TEST

START_TEST(columns_are_bounded) {
        Ledger ledger;
        const char *text;
        Buffer document;

        buffer_init(&document, 0);
        ck_assert_int_eq(buffer_append_text(&document, "{\"dead\":{\"columns\":["), 0);
        for (unsigned i = 0; i <= TABLE_MAX_COLUMNS; i++)
                ck_assert_int_eq(buffer_append_format(&document, "%s\"c%u\"", i > 0 ? "," : "", i),
                                 0);
        ck_assert_int_eq(buffer_append_text(&document, "],\"rows\":[]}}"), 0);
        ck_assert_int_eq(buffer_terminate(&document, &text), 0);
        ck_assert_int_eq(ledger_read_text(&ledger, text, SIZE_MAX), JSON_E_MALFORMED);
        ck_assert_str_eq(ledger.document.complaint, "dead: there are too many columns");
        ledger_done(&ledger);
        buffer_done(&document);
}
END_TEST

/* Delivers a document of any number of rows without having it in memory. */
typedef struct Rows {
        uint64_t n_left;
        unsigned step;
} Rows;

static int refill_rows(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        static const char head[] = "{\"dead\":{\"columns\":[\"name\",\"exits\"],"
                                   "\"rows\":[[\"a\",1]";
        static const char row[] = ",[\"somebody with a name of some length\",1]";
        static const char tail[] = "]}}";
        Rows *rows = userdata;
        size_t n = 0;

        if (rows->step == 0) {
                memcpy(space, head, sizeof(head) - 1);
                n = sizeof(head) - 1;
                rows->step = 1;
        }
        for (; rows->n_left > 0 && n_space - n >= sizeof(row); rows->n_left--) {
                memcpy(space + n, row, sizeof(row) - 1);
                n += sizeof(row) - 1;
        }
        if (rows->n_left == 0 && rows->step == 1 && n_space - n >= sizeof(tail)) {
                memcpy(space + n, tail, sizeof(tail) - 1);
                n += sizeof(tail) - 1;
                rows->step = 2;
        }
        *ret_n = n;
        return 0;
}

static size_t memory_after(uint64_t n_rows) {
        Rows rows = { .n_left = n_rows };
        struct mallinfo2 before = mallinfo2(), after;
        Ledger ledger;

        ck_assert_int_eq(ledger_read(&ledger, refill_rows, &rows), 0);
        ck_assert_uint_eq(ledger.sum, n_rows + 1);
        after = mallinfo2();
        ledger_done(&ledger);
        return after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
}

/* A reader frees nothing before it is freed itself, so it never held more than at the end. */
START_TEST(memory_does_not_grow_with_rows) {
        (void) memory_after(1);
        ck_assert_uint_eq(memory_after(10000), memory_after(100000));
}
END_TEST

/* A reader that does not know these sections reads the others. */
START_TEST(a_snapshot_with_sections_of_a_later_version_is_read) {
        static const char text[] =
                "{\"formatVersion\":1,\"exits\":{\"columns\":[\"name\"],\"rows\":[[\"x\"]]},"
                "\"threads\":{\"columns\":[],\"rows\":[]},\"stacks\":[[1,[2]],null]}";
        Visited *visited;

        ck_assert_int_eq(document_read(span_of(text), &visited), SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_threads, 0);
        visited_free(visited);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("document");
        TCase *reading = tcase_create("reading"), *writing = tcase_create("writing");

        tcase_add_test(reading, tables_of_one_document_are_read_row_by_row);
        tcase_add_test(reading, the_caller_gets_each_row_before_the_next_is_read);
        tcase_add_loop_test(reading, a_table_is_as_strict_as_that_of_threads, 0,
                            ELEMENTSOF(refused));
        tcase_add_test(reading, columns_are_bounded);
        tcase_add_test(reading, memory_does_not_grow_with_rows);
        tcase_add_test(reading, a_snapshot_with_sections_of_a_later_version_is_read);
        suite_add_tcase(suite, reading);
        suite_add_tcase(suite, writing);
        return check_main(suite);
}
