/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/bridge-frame.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check-main.h"
#include "wire/limits.h"

#define MAX_FRAME 64

/* Decodes @text in pieces of @n_piece and notes what came: "M:text", "F:length", "D:bytes". */
static int decode(Span text, size_t n_piece, char *ret_heard, size_t n_heard, bool *ret_inside) {
        BridgeDecoder decoder;
        BridgePart part;
        size_t n = 0;
        Span bytes;
        int r = 0;

        ret_heard[0] = '\0';
        bridge_decoder_init(&decoder, MAX_FRAME);
        while (r == 0 && text.n > 0) {
                Span piece = { text.bytes, n_piece < text.n ? n_piece : text.n };

                text = (Span){ text.bytes + piece.n, text.n - piece.n };
                do {
                        r = bridge_decoder_next(&decoder, &piece, &part, &bytes);
                        if (r != 0 || part == BRIDGE_PART_NONE)
                                continue;
                        if (part == BRIDGE_PART_FILE)
                                n += (size_t) snprintf(ret_heard + n, n_heard - n, "F:%llu ",
                                                       (unsigned long long) decoder.n_left);
                        else if (part == BRIDGE_PART_MESSAGE)
                                n += (size_t) snprintf(ret_heard + n, n_heard - n, "M:%.*s ",
                                                       (int) bytes.n, bytes.bytes);
                        else
                                n += (size_t) snprintf(ret_heard + n, n_heard - n, "%.*s%s",
                                                       (int) bytes.n, bytes.bytes,
                                                       decoder.n_left == 0 ? " " : "");
                } while (r == 0 && piece.n > 0);
        }
        *ret_inside = bridge_decoder_is_inside(&decoder);
        bridge_decoder_done(&decoder);
        return r;
}

#define F(n) "{\"ctprofFile\":{\"bytes\":" n "}}\0"
#define TEXT(literal) \
        { (literal), sizeof(literal) - 1 }

static const struct {
        Span text;
        int r;
        bool inside;
        const char *heard;
} streams[] = {
        { TEXT("{}\0"), 0, false, "M:{} " },
        { TEXT("{}\0{\"a\":1}\0"), 0, false, "M:{} M:{\"a\":1} " },
        { TEXT(F("3") "abc{}\0"), 0, false, "F:3 abc M:{} " },
        { TEXT(F("0") "{}\0"), 0, false, "F:0 M:{} " },
        { TEXT(F("2") "ab" F("3") "cde{}\0{}\0"), 0, false, "F:2 ab F:3 cde M:{} M:{} " },
        { TEXT(F("5") "{}{}x{}\0"), 0, false, "F:5 {}{}x M:{} " },
        { TEXT("{\"a\""), 0, true, "" },
        { TEXT(F("3") "ab"), 0, true, "F:3 ab" },
        { TEXT(F("3") "abc"), 0, true, "F:3 abc " },
        { TEXT("Welcome\n"), BRIDGE_E_MALFORMED, false, "" },
        { TEXT("\0"), BRIDGE_E_MALFORMED, false, "" },
        { TEXT("Welcome to this host, where every shell begins with more than one line of news\n"),
          BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F("2") "abc{}\0"), BRIDGE_E_MALFORMED, true, "F:2 ab " },
        { TEXT(F("")), BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F("-1")), BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F("1.0")), BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F(" 1")), BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F("99999999999999999999")), BRIDGE_E_MALFORMED, false, "" },
        { TEXT("{\"ctprofFile\":{}}\0"), BRIDGE_E_MALFORMED, false, "" },
        { TEXT("{\"ctprofFile\":{\"bytes\":1}},\0"), BRIDGE_E_MALFORMED, false, "" },
        { TEXT(F("18446744073709551615")), BRIDGE_E_FILE_TOO_LONG, true, "" },
        { TEXT(F("4294967297")), BRIDGE_E_FILE_TOO_LONG, true, "" },
        { TEXT(F("1") "a" F("4294967296")), BRIDGE_E_FILE_TOO_LONG, true, "F:1 a " },
        { TEXT("{234567890123456789012345678901234567890123456789012345678901234\0"), 0, false,
          "M:{234567890123456789012345678901234567890123456789012345678901234 " },
        { TEXT("{2345678901234567890123456789012345678901234567890123456789012345\0"),
          BRIDGE_E_TOO_LONG, false, "" },
};

START_TEST(a_stream_is_the_same_however_it_is_cut) {
        char heard[1024];
        bool inside;

        for (size_t n = 1; n <= streams[_i].text.n; n++) {
                ck_assert_int_eq(decode(streams[_i].text, n, heard, sizeof(heard), &inside),
                                 streams[_i].r);
                ck_assert_str_eq(heard, streams[_i].heard);
                if (streams[_i].r == 0)
                        ck_assert_int_eq(inside, streams[_i].inside);
        }
}
END_TEST

START_TEST(files_of_a_message_are_counted) {
        Buffer text = {};
        char heard[4096];
        bool inside;

        for (unsigned i = 0; i < LIMIT_FDS_PER_CALL; i++) {
                bridge_append_file(&text, 0);
                buffer_append_byte(&text, '\0');
        }
        ck_assert_int_eq(decode(buffer_span(&text), 7, heard, sizeof(heard), &inside), 0);
        bridge_append_file(&text, 0);
        buffer_append_byte(&text, '\0');
        ck_assert_int_eq(decode(buffer_span(&text), 7, heard, sizeof(heard), &inside),
                         BRIDGE_E_TOO_MANY);
        buffer_done(&text);
}
END_TEST

START_TEST(a_hold_is_told_from_a_call) {
        uint64_t until_ns = 0;
        Buffer text = {};

        ck_assert_int_eq(bridge_append_hold(&text, UINT64_MAX), 0);
        ck_assert(bridge_parse_hold(buffer_span(&text), &until_ns));
        ck_assert_uint_eq(until_ns, UINT64_MAX);
        ck_assert(!bridge_parse_hold(SPAN_LITERAL("{\"method\":\"a.B\"}"), &until_ns));
        ck_assert(!bridge_parse_hold(SPAN_LITERAL("{\"ctprofHold\":{\"untilRealtimeNs\":}}"),
                                     &until_ns));
        ck_assert(!bridge_parse_hold(SPAN_LITERAL("{\"ctprofHold\":{\"untilRealtimeNs\":1}"),
                                     &until_ns));
        ck_assert(!bridge_parse_hold(SPAN_LITERAL("{}"), &until_ns));
        ck_assert(!bridge_parse_hold((Span){ "", 0 }, &until_ns));
        buffer_done(&text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("bridge-frame");
        TCase *tcase = tcase_create("bridge-frame");

        tcase_add_loop_test(tcase, a_stream_is_the_same_however_it_is_cut, 0, ELEMENTSOF(streams));
        tcase_add_test(tcase, files_of_a_message_are_counted);
        tcase_add_test(tcase, a_hold_is_told_from_a_call);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
