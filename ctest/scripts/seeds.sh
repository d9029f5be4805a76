#!/bin/sh
# A right kernel never fails: every case of SEEDS (100) seeds from FIRST_SEED (1) on, on every route of a backend, and
# programs over sessions. seeds.sh PROGRAM BACKEND [OP...]. A seed with a bad case is named with what `assay verify`
# says of it, and the others still run.
set -u
program=$1 backend=$2
shift 2
first=${FIRST_SEED:-1} count=${SEEDS:-100} bad=0 cases=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    if ! "$program" verify --backend "$backend" --seed "$seed" ${JOBS:+--jobs "$JOBS"} "$@" >"$log" 2>&1; then
        bad=$((bad + 1))
        echo "seed $seed:"
        grep -A 3 -E '^(FAILED|MISTRUSTED|NOT RUN|assay)' "$log" || tail -n 5 "$log"
    fi
    done=$(sed -n 's/^\([0-9]*\) cases, .*/\1/p' "$log" | tail -n 1)
    cases=$((cases + ${done:-0}))
    if [ $# -eq 0 ] && ! "$program" verify "sequence backend=$backend seed=$seed length=40" >"$log" 2>&1; then
        bad=$((bad + 1))
        echo "programs of seed $seed:"
        tail -n 5 "$log"
    fi
    seed=$((seed + 1))
done
echo "$count seeds from $first on, backend $backend: $cases cases, $bad bad"
[ "$bad" -eq 0 ] && [ "$cases" -gt 0 ]
