#!/bin/sh
# SPDX-License-Identifier: MIT
# What a plugin may say wrong about itself: one line that names it, exit code 3, no report. What it
# does while it is opened: exit code 1.
# Usage: plugin_hostile.sh PROGRAM HOSTILE.so EMPTY.so
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
hostile=$2
empty=$3

refused() {
    silent out
    checks=$((checks + 1))
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "not exactly one line"
}

# lie NAME MESSAGE
lie() {
    expect 3 env ASSAY_HOSTILE="$1" "$assay" verify --plugin "$hostile" --jobs 3
    err "$2"
    refused
}
lie null 'returned null'
lie size 'its first member must be its size'
lie version 'version: must be 1, is 2'
lie no-routes 'num_routes: must be 1 to 32, is 0'
lie many-routes 'num_routes: must be 1 to 32, is 33'
lie routes-null 'routes: must not be null'
lie route-null 'routes[0]: must not be null'
lie route-size 'routes[0]: its first member must be its size'
lie route-size-huge 'routes[0]: its first member must be its size'
lie name-null 'name is'
lie profile-null 'profile is'
lie backend-null 'backend is'
lie run-null 'run is'
lie profile "there is no profile 'fp8'"
lie backend 'the backend must be cpu or cuda'
lie op "there is no op 'softmax'"
lie taken 'the name is taken'
lie twice 'the name is taken'
lie name-malformed 'must be OP.ANYTHING'
lie name-short 'must be OP.ANYTHING'
lie name-long 'at most 63 characters'
lie boundaries 'more than 32 boundaries'

# A plugin that does not lie computes nothing: the verdict says so. One with the longer structs of a
# later version is taken.
expect 1 "$assay" verify --plugin "$hostile"
out 'was not written'
expect 1 env ASSAY_HOSTILE=newer "$assay" verify --plugin "$hostile"
out 'was not written'

for what in constructor-crashes entry-crashes constructor-hangs; do
    expect 1 env ASSAY_HOSTILE=$what "$assay" verify --plugin "$hostile" --time-limit 0.5
    err 'while it was opened'
    refused
done
err 'its constructors'

expect 3 "$assay" verify --plugin "$empty"
err 'exports no assay_plugin_v1'
refused
echo 'not a library' >"$work/text.so"
expect 3 "$assay" verify --plugin "$work/text.so"
err 'cannot be loaded'
refused
expect 3 "$assay" verify --plugin "$work/none.so"
err 'there is no such file'
refused
expect 3 "$assay" verify --plugin "$work"
err 'cannot be loaded'
refused
finish
