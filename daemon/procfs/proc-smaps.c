/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "procfs/proc-smaps.h"

#include "base/number.h"
#include "text/cursor.h"

/* The header's first colon stands behind an address range and a device number: no key. */
static bool is_key(Span text) {
        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];

                if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
                    c != '_')
                        return false;
        }
        return text.n > 0;
}

/* Where @key is, or would be put. */
static size_t find_slot(const ProcSmaps *smaps, Span key) {
        size_t first = 0, end = smaps->n_entries;

        while (first < end) {
                size_t middle = first + (end - first) / 2;

                if (span_compare(smaps->entries[middle].key, key) < 0)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first;
}

static bool put_entry(ProcSmaps *smaps, Span key, Span value, bool *bad) {
        Cursor words = cursor_over(value);
        size_t slot = find_slot(smaps, key);
        ProcSmapsEntry entry = { .key = key };
        Span word;

        if (slot < smaps->n_entries && span_equal(smaps->entries[slot].key, key)) {
                bad[slot] = true;
                return false;
        }
        if (smaps->n_entries == PROC_SMAPS_MAX_ENTRIES)
                return false;
        memmove(smaps->entries + slot + 1, smaps->entries + slot,
                (smaps->n_entries - slot) * sizeof(smaps->entries[0]));
        memmove(bad + slot + 1, bad + slot, (smaps->n_entries - slot) * sizeof(bad[0]));
        smaps->n_entries++;
        bad[slot] = !cursor_word(&words, &word) || !number_parse_u64(word, &entry.kib);
        smaps->entries[slot] = entry;
        return !bad[slot];
}

int proc_smaps_parse(Span text, ProcSmaps *ret) {
        Cursor cursor = cursor_over(text);
        bool bad[PROC_SMAPS_MAX_ENTRIES]; /* in step with the entries: seen, but without a value */
        bool good = true;
        Span key, value;
        size_t n_good = 0;

        ret->n_entries = 0;
        while (cursor_colon_pair(&cursor, &key, &value))
                if (is_key(key))
                        good &= put_entry(ret, key, value, bad);
        for (size_t i = 0; i < ret->n_entries; i++)
                if (!bad[i])
                        ret->entries[n_good++] = ret->entries[i];
        ret->n_entries = n_good;
        return good && cursor_is_at_end(&cursor) ? 0 : PROCFS_E_MALFORMED;
}

void proc_smaps_write_json(JsonWriter *writer, const ProcSmaps *smaps) {
        json_write_object(writer);
        for (size_t i = 0; i < smaps->n_entries; i++) {
                json_write_key_name(writer, smaps->entries[i].key);
                json_write_u64(writer, smaps->entries[i].kib);
        }
        json_write_end(writer);
}
