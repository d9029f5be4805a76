#!/bin/sh
# One fuzz target for FUZZ_SECONDS (20), at most FUZZ_INPUT_SECONDS (20) an input: explore.sh PROGRAM
# SEEDS FOUND. Inputs that reach new code are kept in FOUND and are where the next run begins; a crash
# leaves its input there, as crash-*, and the command that repeats it.
set -eu
program=$1 seeds=$2 found=$3
mkdir -p "$found"
dictionary=$(dirname "$seeds")/$(basename "$(dirname "$seeds")").dict
set -- -max_total_time="${FUZZ_SECONDS:-20}" -timeout="${FUZZ_INPUT_SECONDS:-20}" -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$found/crash-" -print_final_stats=1
[ ! -f "$dictionary" ] || set -- "$@" -dict="$dictionary"
log=$found/../$(basename "$found").log
status=0
"$program" "$@" "$found" "$seeds" >"$log" 2>&1 || status=$?
grep -E 'stat::number_of_executed_units|stat::new_units_added|stat::peak_rss_mb' "$log" || true
if [ $status -ne 0 ]; then
    tail -n 40 "$log"
    for input in "$found"/crash-*; do
        [ ! -e "$input" ] || echo "repeat: $program $input"
    done
fi
exit $status
