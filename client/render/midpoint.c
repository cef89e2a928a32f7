/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/midpoint.h"

#include <stdint.h>
#include <stdio.h>

#include "wire/message-object.h"

bool midpoint_format(json_object *a, json_object *b, char ret_text[static MIDPOINT_CHARS]) {
        bool negative_a, negative_b;
        uint64_t magnitude_a, magnitude_b;
        __int128 sum;
        unsigned __int128 magnitude;

        if (!message_get_integer(a, &negative_a, &magnitude_a) ||
            !message_get_integer(b, &negative_b, &magnitude_b))
                return false;
        sum = (negative_a ? -(__int128) magnitude_a : (__int128) magnitude_a) +
              (negative_b ? -(__int128) magnitude_b : (__int128) magnitude_b);
        magnitude = (unsigned __int128) (sum < 0 ? -sum : sum);
        (void) snprintf(ret_text, MIDPOINT_CHARS, "%s%llu%s", sum < 0 ? "-" : "",
                        (unsigned long long) (magnitude / 2), magnitude % 2 == 1 ? ".5" : "");
        return true;
}
