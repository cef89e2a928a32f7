/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/member-scan.h"

#include <inttypes.h>
#include <stdio.h>

#include "snapshot/snapshot-reader.h"

int member_scan_value(JsonScanner *scanner, JsonOnMember on_member, void *userdata) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return json_scanner_fail(scanner, "an object or null is expected");
        return json_scanner_members(scanner, on_member, userdata);
}

int member_scan_text(Span json, JsonOnMember on_member, void *userdata,
                     char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        static const JsonLimits limits = {
                .max_depth = SNAPSHOT_MAX_DEPTH,
                .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
                .max_text_bytes = SNAPSHOT_MAX_VALUE_BYTES,
        };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        int r;

        r = json_scanner_new_text(json, &limits, &scanner);
        if (r != 0)
                return r;
        r = member_scan_value(scanner, on_member, userdata);
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        if (r == JSON_E_MALFORMED)
                (void) snprintf(ret_complaint, MEMBER_COMPLAINT_BYTES,
                                "%.120s (at byte %" PRIu64 " of it)",
                                json_scanner_complaint(scanner), json_scanner_offset(scanner));
        return r;
}
