/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/keyed-numbers.h"

#include "base/array.h"
#include "base/number.h"
#include "kernel/text/cursor.h"

/* numbers of known keys */

bool fields_put(Fields *fields, Span key, Span value) {
        size_t i = 0;
        uint64_t bit, number;

        while (i < fields->n_keys && !span_equal(fields->keys[i], key))
                i++;
        if (i == fields->n_keys)
                return false;

        bit = UINT64_C(1) << i;
        if (fields->seen & bit) {
                fields->present &= ~bit;
                fields->malformed = true;
        } else if (!number_parse_u64(value, &number)) {
                fields->malformed = true;
        } else {
                fields->values[i] = number;
                fields->present |= bit;
        }
        fields->seen |= bit;
        return true;
}

/* numbers of all keys */

bool number_map_put(NumberMap *map, Span key, Span value) {
        size_t slot = ARRAY_FIRST(map->n_entries, i, span_compare(map->entries[i].key, key) >= 0);
        NumberMapEntry entry = { .key = key };

        if (slot < map->n_entries && span_equal(map->entries[slot].key, key)) {
                map->entries[slot].has_value = false;
                return false;
        }
        if (map->n_entries == NUMBER_MAP_MAX)
                return false;

        entry.has_value = number_parse_u64(value, &entry.value);
        memmove(map->entries + slot + 1, map->entries + slot,
                (map->n_entries - slot) * sizeof(map->entries[0]));
        map->entries[slot] = entry;
        map->n_entries++;
        return entry.has_value;
}

void number_map_write_json(JsonWriter *writer, const NumberMap *map) {
        json_write_object(writer);
        for (size_t i = 0; i < map->n_entries; i++) {
                if (!map->entries[i].has_value)
                        continue;
                json_write_key_name(writer, map->entries[i].key);
                json_write_u64(writer, map->entries[i].value);
        }
        json_write_end(writer);
}

/* files of values */

int file_value_write(JsonWriter *json, const char *name, FileValueKind kind, Span text) {
        bool is_good = true;
        uint64_t number;
        int64_t integer;
        Span key, value;
        NumberMap map;

        json_write_key(json, name);
        if (kind == FILE_VALUE_MAP) {
                map.n_entries = 0;
                while (cursor_flat_pair(&text, &key, &value))
                        is_good = number_map_put(&map, key, value) && is_good;
                number_map_write_json(json, &map);
                return is_good && text.n == 0 ? 0 : TEXT_E_MALFORMED;
        }
        if (kind == FILE_VALUE_TEXT)
                json_write_name(json, text);
        else if (kind == FILE_VALUE_LIMIT && span_is(text, "max"))
                json_write_text(json, "max");
        else if (kind == FILE_VALUE_SIGNED && number_parse_i64(text, &integer))
                json_write_i64(json, integer);
        else if (kind != FILE_VALUE_SIGNED && number_parse_u64(text, &number))
                json_write_u64(json, number);
        else {
                json_write_null(json);
                is_good = false;
        }
        return is_good ? 0 : TEXT_E_MALFORMED;
}
