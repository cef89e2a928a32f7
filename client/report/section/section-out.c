/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-out.h"

#include <stdio.h>
#include <string.h>

#include "render/cell.h"

static bool is_name(const char *text) {
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

        return n > 0 && n < SECTION_NAME_CHARS && text[n] == '\0';
}

static void begin(SectionOut *sections, JsonOut *out) {
        if (sections->begun)
                return;
        sections->begun = true;
        json_out_key(out, "sections");
        json_out_object(out);
}

static void close_array(SectionOut *sections, JsonOut *out) {
        if (sections->name[0] != '\0')
                json_out_end(out);
        sections->name[0] = '\0';
}

void section_out_add(SectionOut *sections, JsonOut *out, json_object *part) {
        begin(sections, out);
        if (!json_object_is_type(part, json_type_object))
                return;
        json_object_object_foreach(part, name, rows) {
                if (!is_name(name))
                        continue;
                if (strcmp(sections->name, name) != 0) {
                        close_array(sections, out);
                        (void) snprintf(sections->name, sizeof(sections->name), "%s", name);
                        json_out_key(out, sections->name);
                        json_out_array(out);
                }
                for (size_t i = 0; i < cell_length(rows); i++)
                        json_out_value(out, cell_element(rows, i));
        }
}

void section_out_end(SectionOut *sections, JsonOut *out) {
        begin(sections, out);
        close_array(sections, out);
        json_out_end(out);
}
