/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What a bridge on another host sends, however it is cut: the decoder hands out the same parts, and
 * fails at the same one; a message has no NUL and is within its bound, a file has as many bytes as
 * were said, and the files of a message never are more or longer than one can have. A list of hosts
 * is read from the same bytes: each name is valid, none is twice, and folded they stand for the
 * same hosts again.
 *
 * Aims at: client/remote/bridge-frame.c, client/remote/host-set.c
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "remote/bridge-frame.h"
#include "remote/host-set.h"
#include "wire/limits.h"

#define MAX_FRAME_BYTES 128u

/* What was decoded, as one text, so that two ways to cut can be compared. */
typedef struct Heard {
        Buffer text;
        int r;
        uint64_t n_left; /* of a file, as it was said */
} Heard;

static void hear(Heard *heard, const BridgeDecoder *decoder, BridgePart part, Span bytes) {
        switch (part) {
        case BRIDGE_PART_NONE:
                break;
        case BRIDGE_PART_MESSAGE:
                fuzz_expect(heard->n_left == 0, "a message follows whole files");
                fuzz_expect(bytes.n > 0 && bytes.n <= MAX_FRAME_BYTES && bytes.bytes[0] == '{' &&
                                    !memchr(bytes.bytes, '\0', bytes.n),
                            "a message is within its bound, and has no NUL");
                buffer_append_format(&heard->text, "M%.*s\n", (int) bytes.n, bytes.bytes);
                break;
        case BRIDGE_PART_FILE:
                fuzz_expect(heard->n_left == 0, "a file follows the whole one before it");
                fuzz_expect(decoder->n_files <= LIMIT_FDS_PER_CALL &&
                                    decoder->n_file_bytes <= LIMIT_FILE_BYTES &&
                                    decoder->n_left <= LIMIT_FILE_BYTES,
                            "files are bounded");
                heard->n_left = decoder->n_left;
                buffer_append_format(&heard->text, "F%llu\n", (unsigned long long) decoder->n_left);
                break;
        case BRIDGE_PART_DATA:
                fuzz_expect(bytes.n > 0 && bytes.n <= heard->n_left,
                            "a file has no more bytes than were said");
                heard->n_left -= bytes.n;
                fuzz_expect(heard->n_left == decoder->n_left, "the rest is counted");
                buffer_append(&heard->text, bytes.bytes, bytes.n);
                break;
        }
}

/* @cuts: NULL for all at once. Each piece is a copy of exactly its size. */
static void decode(Span text, FuzzCuts *cuts, Heard *heard) {
        BridgeDecoder decoder;

        *heard = (Heard){};
        bridge_decoder_init(&decoder, MAX_FRAME_BYTES);
        while (heard->r == 0 && text.n > 0) {
                size_t n = cuts ? fuzz_cuts_next(cuts, text.n) : text.n;
                _cleanup_(freep) char *copy = fuzz_copy((Span){ text.bytes, n });
                Span piece = { copy, n }, bytes;
                BridgePart part;

                text = (Span){ text.bytes + n, text.n - n };
                while (heard->r == 0 && piece.n > 0) {
                        size_t n_before = piece.n;

                        heard->r = bridge_decoder_next(&decoder, &piece, &part, &bytes);
                        fuzz_expect(heard->r >= 0, "there is memory");
                        fuzz_expect(heard->r != 0 || piece.n < n_before, "it comes further");
                        if (heard->r == 0)
                                hear(heard, &decoder, part, bytes);
                }
        }
        bridge_decoder_done(&decoder);
}

static void try_hosts(Span text) {
        char complaint[HOST_SET_COMPLAINT_BYTES] = "";
        HostSet set = {}, again = {};
        Buffer folded = {};
        int r;

        r = host_set_add(&set, text, complaint);
        fuzz_expect(r == 0 || (r == HOST_SET_E_INVALID && complaint[0] == '"'),
                    "a list is read, or there is a complaint");
        fuzz_expect(set.n <= HOST_SET_MAX, "there are not more than there may be");
        for (size_t i = 0; i < set.n; i++) {
                HostAddress address;

                host_address_parse(set.names[i], &address);
                fuzz_expect(address.text[0] != '-' && address.text[0] != '\0' &&
                                    !strpbrk(address.text, " \t\n'\"`$;&|<>(){}*?!#~/,"),
                            "no name is an option, a command or a path: %s", set.names[i]);
        }
        /* Enough to see every shape; a large set takes its time. */
        if (r == 0 && set.n <= 64) {
                fuzz_expect(host_set_fold((const char *const *) set.names, set.n, &folded) == 0,
                            "names fold");
                r = host_set_add(&again, buffer_span(&folded), complaint);
                fuzz_expect(r == 0 && again.n == set.n,
                            "folded, they stand for the same hosts: "
                            "%.*s",
                            (int) folded.n, folded.bytes);
        }
        buffer_done(&folded);
        host_set_done(&set);
        host_set_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzCuts cuts;
        Span text = fuzz_cuts_begin(&cuts, data, size);
        Heard whole, cut;

        decode(text, NULL, &whole);
        decode(text, &cuts, &cut);
        fuzz_expect(whole.r == cut.r, "where it is cut does not matter: %d, %d", whole.r, cut.r);
        /* Of a piece that fails, files before the failure are there in both. */
        fuzz_expect(span_equal(buffer_span(&whole.text), buffer_span(&cut.text)),
                    "it says the same however it is cut");
        buffer_done(&whole.text);
        buffer_done(&cut.text);
        if (text.n < 256)
                try_hosts(text);
        return 0;
}
