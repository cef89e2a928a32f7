/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BridgeFrame
 *
 * A bridge carries messages and files through a pipe, which has no descriptors. A message is ended
 * by a NUL, as on the socket. A file is a frame of its own and then its bytes, as many as it says:
 *
 *     {"ctprofFile":{"bytes":N}} NUL, N bytes
 *
 * It belongs to the next message, whose descriptors are the files in front of it, in their order.
 * The first message from the remote side is a reply with one member, "ctprofBridge": which bridge
 * it is. A message from the client can be {"ctprofHold":{"untilRealtimeNs":N}}: the bridge passes
 * on nothing of what follows before that time of its own clock.
 *
 * The decoder takes bytes in whatever pieces they come. It keeps one message at most; bytes of
 * files are handed on as they come.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

#define BRIDGE_VERSION 1u

typedef enum BridgePart {
        BRIDGE_PART_NONE,    /* all bytes are used, and more are needed */
        BRIDGE_PART_MESSAGE, /* without its NUL */
        BRIDGE_PART_FILE,    /* one begins; @n_left has its length */
        BRIDGE_PART_DATA,    /* bytes of it; it ends when @n_left is 0 */
} BridgePart;

enum {
        BRIDGE_OK,
        BRIDGE_E_TOO_LONG,      /* a message */
        BRIDGE_E_FILE_TOO_LONG, /* the files of one message */
        BRIDGE_E_TOO_MANY,      /* files of one message */
        BRIDGE_E_MALFORMED,
};

typedef struct BridgeDecoder {
        Buffer frame;
        size_t max_frame_bytes; /* of a message, without its NUL */
        bool is_handed_out;     /* what @frame holds: the next call drops it */
        uint64_t n_left;        /* bytes of a file that are still to come */
        uint64_t n_file_bytes;  /* of the files in front of the next message */
        unsigned n_files;       /* likewise */
} BridgeDecoder;

void bridge_decoder_init(BridgeDecoder *decoder, size_t max_frame_bytes);
void bridge_decoder_done(BridgeDecoder *decoder);
/* True if the bytes so far end within a message or a file, or in front of the message of one. */
bool bridge_decoder_is_inside(const BridgeDecoder *decoder);

/*
 * Takes bytes from the front of @input up to the end of one part. *ret_bytes are those of a message
 * or of a file, borrowed until the next call or as long as the input. After a failure the decoder
 * is of no more use.
 */
_must_check_ int bridge_decoder_next(BridgeDecoder *decoder, Span *input, BridgePart *ret_part,
                                     Span *ret_bytes);

/* Append the frame without its NUL. */
int bridge_append_file(Buffer *buffer, uint64_t n_bytes);
int bridge_append_hold(Buffer *buffer, uint64_t until_realtime_ns);
/* True if @message asks to hold what follows. */
bool bridge_parse_hold(Span message, uint64_t *ret_until_realtime_ns);
