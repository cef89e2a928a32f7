/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-input.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define WINDOW_BYTES (64u * 1024u)

static uint64_t max_text_bytes(const JsonLimits *limits) {
        return limits->max_text_bytes > 0 ? limits->max_text_bytes : UINT64_MAX;
}

void json_input_init_text(JsonInput *input, Span text, const JsonLimits *limits) {
        const char *bytes = text.n > 0 ? text.bytes : "";
        uint64_t n = MIN_OF((uint64_t) text.n, max_text_bytes(limits));

        *input = (JsonInput){
                .token = bytes,
                .at = bytes,
                .end = bytes + n,
                .window = bytes,
                .max_token_bytes = limits->max_token_bytes,
                .ended = true,
                .too_long = n < text.n,
        };
}

void json_input_init_stream(JsonInput *input, JsonRefill refill, void *userdata,
                            const JsonLimits *limits) {
        *input = (JsonInput){
                .token = "",
                .n_left = max_text_bytes(limits),
                .max_token_bytes = limits->max_token_bytes,
                .refill = refill,
                .userdata = userdata,
        };
        input->at = input->end = input->window = input->token;
}

void json_input_done(JsonInput *input) {
        free(input->space);
        input->space = NULL;
}

/*
 * Moves the bytes from @token on to the front of @space, which is the present buffer or a new one.
 */
static void move_window(JsonInput *input, char *space) {
        size_t n_kept = (size_t) (input->end - input->token);
        size_t n_read = (size_t) (input->at - input->token);

        input->window_offset = json_input_offset(input, input->token);
        if (n_kept > 0)
                memmove(space, input->token, n_kept);
        input->window = input->token = space;
        input->at = space + n_read;
        input->end = space + n_kept;
}

/*
 * Makes room behind @end. Between two moves at least a quarter of the buffer is read, so moving
 * costs little. The buffer stops growing at twice the size of the longest token.
 */
static int make_room(JsonInput *input) {
        size_t n_kept = (size_t) (input->end - input->token), n_room, n_space;
        char *space;

        if (input->space) {
                n_room = (size_t) (input->space + input->n_space - input->end);
                if (n_kept <= input->n_space / 2) {
                        if (n_kept == 0 || n_room < input->n_space / 4)
                                move_window(input, input->space);
                        return 0;
                }
                if (n_room > 0)
                        return 0;
        }

        n_space = input->space ? 2 * input->n_space : WINDOW_BYTES;
        space = malloc(n_space);
        if (!space)
                return -ENOMEM;
        move_window(input, space);
        free(input->space);
        input->space = space;
        input->n_space = n_space;
        return 0;
}

int json_input_fetch(JsonInput *input, bool *ret_more) {
        size_t n_used, n_space, n = 0;
        int r;

        if (!input->ended) {
                r = make_room(input);
                if (r < 0)
                        return r;
                /*
                 * Ask for one byte past the limit, to learn whether the text is longer than that.
                 */
                n_used = (size_t) (input->end - input->space);
                n_space = input->n_space - n_used;
                if (input->n_left < n_space)
                        n_space = (size_t) input->n_left + 1;
                r = input->refill(input->userdata, input->space + n_used, n_space, &n);
                if (r != 0)
                        return err_fold(r);
                assert(n <= n_space);
                input->ended = n == 0;
                if (n > input->n_left) {
                        n = (size_t) input->n_left;
                        input->ended = input->too_long = true;
                }
                input->n_left -= n;
                input->end += n;
        }
        if (n == 0 && input->too_long) {
                input->at = input->end;
                return json_input_fail(input, "the text is too long");
        }
        *ret_more = n > 0;
        return 0;
}

int json_input_need(JsonInput *input, size_t n, const char *ended) {
        bool more;
        int r;

        if ((size_t) (input->at - input->token) + n > input->max_token_bytes)
                return json_input_fail(input, "a string is too long");
        while ((size_t) (input->end - input->at) < n) {
                r = json_input_fetch(input, &more);
                if (r != 0)
                        return r;
                if (!more) {
                        input->at = input->end;
                        return json_input_fail(input, ended);
                }
        }
        return 0;
}
