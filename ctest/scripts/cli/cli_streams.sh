#!/bin/sh
# SPDX-License-Identifier: MIT
# A full disk, a reader that went away, a closed standard output: reported, exit code 3.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

# full COMMAND...: runs it with standard output on a full device.
full() {
    command="$* >/dev/full"
    : >"$work/out"
    "$@" >/dev/full 2>"$work/err"
    code=$?
    checks=$((checks + 1))
    [ "$code" -eq 3 ] || fail "exit code $code, expected 3"
    err 'writing to standard output failed'
    checks=$((checks + 1))
    [ "$(grep -c 'writing to standard output failed' "$work/err")" -eq 1 ] ||
        fail "not reported exactly once"
}
if [ -c /dev/full ]; then
    full "$assay" --help
    full "$assay" --version
    full "$assay" ops
    full "$assay" inspect "$model"
    full "$assay" inspect "$model" --json
    full "$assay" run "$model" --raw --prompt 'Call me' --max-new 4
    err 'ended by output failed'
fi

# The reader is gone before the first token.
command='run | true'
: >"$work/out"
{
    "$assay" run "$model" --raw --prompt 'Call me' --max-new 400 2>"$work/err"
    echo $? >"$work/code"
} | true
checks=$((checks + 1))
[ "$(cat "$work/code")" -eq 3 ] || fail "exit code $(cat "$work/code"), expected 3"
err 'writing to standard output failed'

command='run >&-'
"$assay" run "$model" --raw --prompt 'Call me' --max-new 4 >&- 2>"$work/err"
code=$?
checks=$((checks + 1))
[ "$code" -eq 3 ] || fail "exit code $code, expected 3"
finish
