/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/kernel-cmdline.h"

static const struct {
        const char *text;
        bool has;
} has_rows[] = {
        { "delayacct", true },
        { "quiet delayacct psi=1\n", true },
        { "delayacct=1", true },
        { "\"delayacct\"", false },
        { "", false },
        { "nodelayacct delayacct2 xdelayacct", false },
        { "x=delayacct", false },
        { "x=\"a delayacct b\"", false },
        { "quiet -- delayacct", false },
};

START_TEST(options_are_whole_words_before_the_two_dashes) {
        ck_assert_int_eq(kernel_cmdline_has(span_of(has_rows[_i].text), "delayacct"),
                         has_rows[_i].has);
}
END_TEST

static const struct {
        const char *text, *redacted;
} redact_rows[] = {
        { "", "" },
        { "ro  quiet\tpsi=1 ", "ro  quiet\tpsi=1 " },
        { "iommu.passthrough=1 bypass=2", "iommu.passthrough=1 bypass=2" },
        { "Password=a,b x=1", "Password=*** x=1" },
        { "rd.luks.passphrase=\"two words\" x", "rd.luks.passphrase=*** x" },
        { "\"my.secret=two words\" x", "\"my.secret=***\" x" },
        { "api_token=", "api_token=***" },
        { "apikey=1 keyboard=us", "apikey=*** keyboard=us" },
        { "systemd.set_credential=n:v", "systemd.set_credential=***" },
        { "secret", "secret" },
        { "a=secret", "a=secret" },
        { "x=\"password=1", "x=\"password=1" },
        { "\"my secret\"=1 a b", "\"my secret\"=*** a b" },
        { "x\"y key=1\" a b", "x\"y key=***\" a b" },
};

START_TEST(secrets_are_hidden_and_nothing_else) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(kernel_cmdline_redact(span_of(redact_rows[_i].text), &buffer), 0);
        ck_assert(span_is(buffer_span(&buffer), redact_rows[_i].redacted));
        buffer_done(&buffer);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("kernel-cmdline");
        TCase *words = tcase_create("words");

        tcase_add_loop_test(words, options_are_whole_words_before_the_two_dashes, 0,
                            ELEMENTSOF(has_rows));
        tcase_add_loop_test(words, secrets_are_hidden_and_nothing_else, 0, ELEMENTSOF(redact_rows));
        suite_add_tcase(suite, words);
        return check_main(suite);
}
