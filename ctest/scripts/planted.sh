#!/bin/sh
# SPDX-License-Identifier: MIT
# Every planted fault of host code is killed by its tests, and the same tests pass without one: all of them with --all,
# without it those that take well below a second.
# Usage: planted.sh PROGRAM FAULTS [--all]
set -u
program=$1
faults=$2
all=${3:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
wrong=0
killed=0

# passes FILTER: the tests whose suite or suite/test is FILTER.
passes() {
    case $1 in
    */*) pattern=$1 ;;
    *) pattern=$1/* ;;
    esac
    "$program" --color=never --filter "$pattern" >"$work/out" 2>&1 &&
        grep -q 'Tested: [1-9]' "$work/out"
}

grep '^fault ' "$faults" >"$work/faults"
while read -r _ name id filter; do
    if ASSAY_PLANTED=$name passes "$filter" || ! grep -q 'Tested: [1-9]' "$work/out"; then
        echo "SURVIVES: $id $name: $filter"
        wrong=$((wrong + 1))
    else
        check=$(grep -m 1 -e 'Assertion Failed' -e 'CRASH' -e 'failed' "$work/out" || true)
        echo "killed: $id $name by $filter: $check"
        killed=$((killed + 1))
    fi
done <"$work/faults"
for filter in $(cut -d ' ' -f 4 "$work/faults" | sort -u); do
    case $all:$filter in
    :tokenizer_limits/long_runs | :gguf/hostile) continue ;;
    esac
    if ! ASSAY_PLANTED= passes "$filter"; then
        echo "FAILS WITHOUT A FAULT: $filter"
        sed 's/^/  /' "$work/out" | head -n 20
        wrong=$((wrong + 1))
    fi
done
echo "$killed killed, $wrong wrong"
[ "$wrong" -eq 0 ] && [ "$killed" -gt 0 ]
