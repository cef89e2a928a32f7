#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Loads the files of a directory that were not loaded yet, day=.../host=.../N.ndjson.zst:
#
#     load.sh DIRECTORY [OPTION-OF-CLICKHOUSE-CLIENT...]
#
# What was loaded stands in DIRECTORY/loaded. A file that went in before its name could be written there is not inserted
# twice, for its name is the token by which ClickHouse knows it. Each file goes in as it is: a member that the table does not
# have, of a newer ctprof, is left out, and a number that does not fit is an error. A file whose load fails is tried again
# by the next run, and the others are loaded.
set -eu
cd "$1"
shift
touch loaded
status=0
# No name has an end of line: ctprof-changes writes one as %0A.
for file in $(find . -path './day=*/host=*/*.ndjson.zst' | sort | grep -vxF -f loaded); do
        # A file that is damaged, or not all there yet, is found out before any of its rows go in.
        if zstd -tq "$file" && zstd -dcq "$file" |
                clickhouse-client "$@" --input_format_skip_unknown_fields=1 --insert_deduplication_token="$file" \
                --deduplicate_blocks_in_dependent_materialized_views=1 --query='INSERT INTO ctprof_rows FORMAT JSONEachRow'; then
                echo "$file" >>loaded
        else
                echo "load.sh: $file was not loaded" >&2
                status=1
        fi
done
exit "$status"
