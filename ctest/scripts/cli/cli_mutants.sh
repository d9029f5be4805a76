#!/bin/sh
# SPDX-License-Identifier: MIT
# assay mutants: score, exit codes, wrong arguments.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

wrong() {
    message=$1
    shift
    expect 3 "$assay" mutants "$@"
    err "$message"
    silent out
    checks=$((checks + 1))
    [ "$(grep -c "^assay" "$work/err")" -eq 1 ] || fail "not exactly one message"
}
wrong 'there is no op "nonsense"' nonsense
wrong 'one op is enough' add add
wrong '--seeds must be a whole number' --seeds 0
wrong '--jobs must be a whole number' --jobs x
wrong 'unrecognized option' --nonsense

expect 0 "$assay" mutants add --jobs 2 --seeds 2
silent err
out 'control   add.mutant.control.cpu'
out 'of 1 controls pass'
killed=$(grep -c '^killed' "$work/out")
out "$killed of $killed mutants killed, 1 of 1"
checks=$((checks + 2))
[ "$killed" -ge 3 ] || fail "only $killed mutants"
if grep -E '^(SURVIVED|ALARM)' "$work/out" >/dev/null; then
    fail "a wrong score"
fi

# A mutant is no route of the op: the sweep does not know it.
expect 1 "$assay" verify 'add route=add.mutant.control.cpu'
out "there is no route 'add.mutant.control.cpu'"

if [ -c /dev/full ]; then
    command='mutants add >/dev/full'
    "$assay" mutants add >/dev/full 2>"$work/err"
    code=$?
    checks=$((checks + 1))
    [ "$code" -eq 3 ] || fail "exit code $code, expected 3"
    err 'writing to standard output failed'
fi
finish
