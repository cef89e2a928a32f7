/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/setting.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macro.h"
#include "base/number.h"

const Setting settings[_SETTING_MAX] = {
#define SETTING_ROW(id, section_, key_, type_, lowest_, highest_, standard_) \
        [SETTING_##id] = { .section = (section_),                            \
                           .key = (key_),                                    \
                           .type = SETTING_##type_,                          \
                           .lowest = (lowest_),                              \
                           .highest = (highest_),                            \
                           .standard = (standard_) },
        SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

/* The words of systemd's files. */
static bool parse_bool(Span text, uint64_t *ret) {
        static const char *const words[2][5] = {
                { "no", "false", "off", "0", "n" },
                { "yes", "true", "on", "1", "y" },
        };

        for (unsigned value = 0; value < ELEMENTSOF(words); value++)
                for (size_t i = 0; i < ELEMENTSOF(words[value]); i++)
                        if (span_is(text, words[value][i])) {
                                *ret = value;
                                return true;
                        }
        return false;
}

static void format_bool(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", value ? "yes" : "no");
}

/* The setting was a boolean once: its words stand for the modes that are nearest to them. */
static bool parse_smaps_mode(Span text, uint64_t *ret) {
        *ret = smaps_mode_find(text);
        if (*ret != _SMAPS_MODE_MAX)
                return true;
        if (!parse_bool(text, ret))
                return false;
        *ret = *ret ? SMAPS_MODE_SMALL : SMAPS_MODE_NONE;
        return true;
}

static void format_smaps_mode(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", smaps_mode_name((SmapsMode) value));
}

static bool parse_command_lines(Span text, uint64_t *ret) {
        *ret = command_lines_find(text);
        return *ret != _COMMAND_LINES_MAX;
}

static void format_command_lines(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", command_lines_name((CommandLines) value));
}

static bool parse_backend(Span text, uint64_t *ret) {
        *ret = backend_choice_find(text);
        return *ret != _BACKEND_CHOICE_MAX;
}

static void format_backend(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", backend_choice_name((BackendChoice) value));
}

static bool parse_exits(Span text, uint64_t *ret) {
        *ret = exit_choice_find(text);
        return *ret != _EXIT_CHOICE_MAX;
}

static void format_exits(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", exit_choice_name((ExitChoice) value));
}

static bool parse_accounting(Span text, uint64_t *ret) {
        *ret = span_is(text, "auto");
        return *ret || span_is(text, "off");
}

static void format_accounting(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", value ? "auto" : "off");
}

/* What makes no sense as a time has a word. */
static bool parse_stay(Span text, uint64_t *ret) {
        if (span_is(text, "off") || span_is(text, "always")) {
                *ret = span_is(text, "off") ? 0 : QUANTITY_INFINITY;
                return true;
        }
        return quantity_parse_time(text, ret);
}

static void format_stay(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        if (value == 0 || value == QUANTITY_INFINITY)
                (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", value == 0 ? "off" : "always");
        else
                quantity_format_time(value, ret);
}

static void format_count(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%" PRIu64, value);
}

static const struct {
        bool (*parse)(Span text, uint64_t *ret);
        void (*format)(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]);
        const char *description;
} types[] = {
        [SETTING_SIZE] = { quantity_parse_size, quantity_format_size, "a size like 512M or 4G" },
        [SETTING_TIME] = { quantity_parse_time, quantity_format_time,
                           "a time like 90s or 1h 30min" },
        [SETTING_COUNT] = { number_parse_u64, format_count, "a number" },
        [SETTING_BOOL] = { parse_bool, format_bool, "yes or no" },
        [SETTING_BACKEND_CHOICE] = { parse_backend, format_backend, "auto, procfs or bpf" },
        [SETTING_EXIT_CHOICE] = { parse_exits, format_exits, "auto, bpf, taskstats or off" },
        [SETTING_ACCOUNTING] = { parse_accounting, format_accounting, "auto or off" },
        [SETTING_STAY] = { parse_stay, format_stay, "always, off or a time like 1h" },
        [SETTING_SMAPS_MODE] = { parse_smaps_mode, format_smaps_mode, "all, small or none" },
        [SETTING_COMMAND_LINES] = { parse_command_lines, format_command_lines,
                                    "short, full or no" },
};

bool setting_parse(const Setting *setting, Span text, uint64_t *ret) {
        return types[setting->type].parse(text, ret);
}

void setting_format(const Setting *setting, uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        types[setting->type].format(value, ret);
}

const char *setting_type_text(const Setting *setting) {
        return types[setting->type].description;
}
