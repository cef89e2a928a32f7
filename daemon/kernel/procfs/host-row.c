/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-row.h"

#include "base/number.h"

bool host_row_parse(HostPartId part, Cursor *words, unsigned n_least, HostRow *ret) {
        Span word;

        ret->n_values = 0;
        while (ret->n_values < host_parts[part].n_columns && cursor_word(words, &word)) {
                if (!number_parse_u64(word, &ret->values[ret->n_values]))
                        return false;
                ret->n_values++;
        }
        return ret->n_values >= n_least;
}

void host_file_count(const HostFile *file, int r, uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        if (r != 0) {
                counts[text_file_outcome(r)]++;
                return;
        }
        counts[SOURCE_OUTCOME_ok] += file->n_good > 0;
        counts[SOURCE_OUTCOME_malformed] += file->n_bad > 0 || file->n_good == 0;
}

int host_file_read(int proc_fd, const char *name, Buffer *text, Span *ret) {
        int r;

        buffer_clear(text);
        r = text_file_read_all(proc_fd, name, text);
        *ret = buffer_span(text);
        return r == -EMSGSIZE ? PROCFS_E_TOO_LARGE : r;
}

void host_columns_write(JsonWriter *json, HostPartId part, const char *const *more) {
        json_write_key(json, "columns");
        json_write_array(json);
        json_write_text(json, host_parts[part].item);
        for (; *more; more++)
                json_write_text(json, *more);
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                json_write_text(json, host_parts[part].columns[i].name);
        json_write_end(json);
}

void host_row_write(JsonWriter *json, HostPartId part, const HostRow *row) {
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                if (i < row->n_values)
                        json_write_u64(json, row->values[i]);
                else
                        json_write_null(json);
}

void host_fields_write(JsonWriter *json, HostGroupId group, const Fields *fields,
                       const char *const *names) {
        json_write_key(json, host_groups[group].member);
        json_write_object(json);
        for (size_t i = 0; i < fields->n_keys; i++)
                if (fields->present >> i & 1)
                        json_write_member_u64(json, names[i], fields->values[i]);
        json_write_end(json);
}
