#!/bin/sh
# SPDX-License-Identifier: MIT
# Each planted fault gets its verdict and a message that helps; crashes and hangs end the case, not
# the program.
# Usage: plugin_faults.sh PROGRAM FAULTS.so
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
faults=$2

# fault ROUTE FINDING [OPTION...]: the finding, and a command that repeats it.
fault() {
    route=$1
    finding=$2
    shift 2
    expect 1 "$assay" verify --plugin "$faults" "$@" "$route"
    out "FAILED $route: $finding"
    out "repeat: assay verify --plugin $faults 'rmsnorm"
    out 'cases fail'
    checks=$((checks + 1))
    descriptor=$(sed -n "s/^  repeat: assay verify --plugin .* '\\(.*\\)'\$/\\1/p" "$work/out" | head -n 1)
    [ -n "$descriptor" ] || fail "no descriptor"
    cp "$work/out" "$work/sweep"
    expect 1 "$assay" verify --plugin "$faults" "$@" "$descriptor"
    out "$route: $finding"
    cp "$work/sweep" "$work/out"
}

fault rmsnorm.tail 'unwritten: y['
out 'hint: fails exactly where H is no multiple of 4'
fault rmsnorm.uninitialised 'unwritten: y['
out 'accumulation into the output'
fault rmsnorm.alias 'element'
out 'hint: fails only with layout=inplace'
fault rmsnorm.guard 'guard: memory around output y was written'
fault rmsnorm.workspace 'status'
out 'behind the 8 bytes of its workspace was written'
fault rmsnorm.fails 'status'
out 'this kernel is not for you'
fault rmsnorm.sync 'non-finite'
out 'a race, a missing synchronisation, or memory that is read before it is written'

expect 1 "$assay" verify --plugin "$faults" linear_grouped.group
out 'FAILED linear_grouped.group: element'
out 'index, group, tail and stride'

# The child's end is a verdict; the cases behind it run.
fault rmsnorm.crash 'crashed: ended by signal 11'
out 'in run()'
out 'hint: fails exactly where H >= 257'
fault rmsnorm.exit 'crashed: ended its process with exit code 0 in run(); it printed: cannot go on'
out 'hint: fails only with rows=17'
fault rmsnorm.hang 'hung: stopped after 0.5 s in run(): it did not return' --time-limit 0.5
fault rmsnorm.prints 'hung: stopped after 0.5 s in run()' --time-limit 0.5
out 'it printed: '
expect 1 "$assay" verify --plugin "$faults" rmsnorm.scribbles
err "it wrote into the program's own pipe; the cases that are left are not run"

# A known failure is tolerated until its day, is reported, and must be taken off the list when it is gone.
tolerate() {
    printf '{"tolerated": [{"route": "%s", "finding": "%s", "reason": "known: a row too many", "expires": "%s"}]}' "$@" \
        >"$work/tolerated.json"
}
tolerate rmsnorm.guard guard 2999-12-31
expect 0 "$assay" verify --plugin "$faults" --tolerate "$work/tolerated.json" --json "$work/report.json" rmsnorm.guard
out 'TOLERATED until 2999-12-31: rmsnorm.guard: guard: '
out 'known: a row too many'
out ' 0 bad'
cp "$work/report.json" "$work/out"
out '"failed": 0'
tolerate rmsnorm.guard guard 2020-01-31
expect 1 "$assay" verify --plugin "$faults" --tolerate "$work/tolerated.json" rmsnorm.guard
out 'EXPIRED on 2020-01-31: rmsnorm.guard'
out 'FAILED rmsnorm.guard: guard'
tolerate rmsnorm.guard element 2999-12-31
expect 1 "$assay" verify --plugin "$faults" --tolerate "$work/tolerated.json" rmsnorm.guard
out 'FAILED rmsnorm.guard: guard'
out 'UNEXPECTED PASS: rmsnorm.guard: no case gives element: remove the entry'
tolerate rmsnorm.avx2.cpu element 2999-12-31
expect 1 "$assay" verify --tolerate "$work/tolerated.json" rmsnorm.avx2.cpu
out 'UNEXPECTED PASS: rmsnorm.avx2.cpu'
out ' 1 bad'
tolerate rmsnorm.guard sideways 2999-12-31
expect 3 "$assay" verify --tolerate "$work/tolerated.json" rmsnorm.avx2.cpu
err 'entry 1: there is no finding "sideways"'
tolerate rmsnorm.guard element tomorrow
expect 3 "$assay" verify --tolerate "$work/tolerated.json" rmsnorm.avx2.cpu
err 'must be a day, YYYY-MM-DD, is "tomorrow"'
echo '{"tolerated": {}}' >"$work/tolerated.json"
expect 3 "$assay" verify --tolerate "$work/tolerated.json" rmsnorm.avx2.cpu
err 'must be an array'
expect 3 "$assay" verify --tolerate "$work/none.json" rmsnorm.avx2.cpu
err 'ASSAY_E_NOT_FOUND'

expect 3 "$assay" verify --plugin "$faults" rmsnorm.refuses
err 'accept no case: nothing was checked'
finish
