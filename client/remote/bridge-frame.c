/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/bridge-frame.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "wire/limits.h"

/* A frame with one number is written and read in one form only. */
#define FILE_FRONT "{\"ctprofFile\":{\"bytes\":"
#define HOLD_FRONT "{\"ctprofHold\":{\"untilRealtimeNs\":"
#define REAR "}}"

void bridge_decoder_init(BridgeDecoder *decoder, size_t max_frame_bytes) {
        *decoder = (BridgeDecoder){ .max_frame_bytes = max_frame_bytes };
        buffer_init(&decoder->frame, max_frame_bytes);
}

void bridge_decoder_done(BridgeDecoder *decoder) {
        buffer_done(&decoder->frame);
}

bool bridge_decoder_is_inside(const BridgeDecoder *decoder) {
        return decoder->n_left > 0 || decoder->n_files > 0 ||
               (decoder->frame.n > 0 && !decoder->is_handed_out);
}

int bridge_append_file(Buffer *buffer, uint64_t n_bytes) {
        return buffer_append_format(buffer, FILE_FRONT "%" PRIu64 REAR, n_bytes);
}

int bridge_append_hold(Buffer *buffer, uint64_t until_realtime_ns) {
        return buffer_append_format(buffer, HOLD_FRONT "%" PRIu64 REAR, until_realtime_ns);
}

static bool begins_with(Span text, const char *front) {
        size_t n = strlen(front);

        return text.n >= n && memcmp(text.bytes, front, n) == 0;
}

static bool parse_number(Span message, const char *front, uint64_t *ret) {
        size_t n_front = strlen(front), n_rear = strlen(REAR);
        const char *rear = message.bytes + message.n - n_rear;

        return begins_with(message, front) && message.n > n_front + n_rear &&
               memcmp(rear, REAR, n_rear) == 0 &&
               number_parse_u64((Span){ message.bytes + n_front, message.n - n_front - n_rear },
                                ret);
}

bool bridge_parse_hold(Span message, uint64_t *ret_until_realtime_ns) {
        return parse_number(message, HOLD_FRONT, ret_until_realtime_ns);
}

int bridge_decoder_next(BridgeDecoder *decoder, Span *input, BridgePart *ret_part,
                        Span *ret_bytes) {
        const char *end;
        uint64_t n_bytes;
        size_t n;
        int r;

        *ret_part = BRIDGE_PART_NONE;
        *ret_bytes = (Span){};
        if (decoder->is_handed_out)
                buffer_clear(&decoder->frame);
        decoder->is_handed_out = false;
        if (input->n == 0)
                return 0;
        if (decoder->n_left > 0) {
                n = (size_t) MIN_OF((uint64_t) input->n, decoder->n_left);
                *ret_bytes = (Span){ input->bytes, n };
                *input = (Span){ input->bytes + n, input->n - n };
                decoder->n_left -= n;
                *ret_part = BRIDGE_PART_DATA;
                return 0;
        }
        /* A message is an object; what a shell prints at its start is none, however long it is. */
        if (decoder->frame.n == 0 && input->bytes[0] != '{')
                return BRIDGE_E_MALFORMED;
        end = memchr(input->bytes, '\0', input->n);
        n = end ? (size_t) (end - input->bytes) : input->n;
        if (n > decoder->max_frame_bytes - decoder->frame.n)
                return BRIDGE_E_TOO_LONG;
        r = buffer_append(&decoder->frame, input->bytes, n);
        if (r < 0)
                return r;
        n += end ? 1 : 0;
        *input = (Span){ input->bytes + n, input->n - n };
        if (!end)
                return 0;
        decoder->is_handed_out = true;
        if (begins_with(buffer_span(&decoder->frame), "{\"ctprofFile\"")) {
                if (!parse_number(buffer_span(&decoder->frame), FILE_FRONT, &n_bytes))
                        return BRIDGE_E_MALFORMED;
                if (++decoder->n_files > LIMIT_FDS_PER_CALL)
                        return BRIDGE_E_TOO_MANY;
                decoder->n_file_bytes = number_add_saturating(decoder->n_file_bytes, n_bytes);
                if (decoder->n_file_bytes > LIMIT_FILE_BYTES)
                        return BRIDGE_E_FILE_TOO_LONG;
                decoder->n_left = n_bytes;
                *ret_part = BRIDGE_PART_FILE;
                return 0;
        }
        decoder->n_files = 0;
        decoder->n_file_bytes = 0;
        *ret_bytes = buffer_span(&decoder->frame);
        *ret_part = BRIDGE_PART_MESSAGE;
        return 0;
}
