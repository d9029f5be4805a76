#!/bin/sh
# SPDX-License-Identifier: MIT
# assay profile: the table, the JSON, and what it refuses. Third argument: the program json_field.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"
json=$3

# spans VALUE PART PHASE: so many calls of the phase in a decode step or a prefill chunk.
spans() {
    checks=$((checks + 1))
    got=$("$json" "$work/profile.json" "$2" phases "$3" spans 2>&1)
    [ "$got" = "$1" ] || fail "$2 $3 has $got spans, expected $1"
}

expect 0 "$assay" profile "$model" --context 5 --chunk 9 --steps 4 --threads 1
silent err
out 'decode step'
out 'prefill of 9'
out 'launch slack'

expect 0 "$assay" profile "$model" --context 5 --chunk 9 --steps 4 --json
silent err
cp "$work/out" "$work/profile.json"
# One choice a step and none in a prefill without a result; one attention for each full layer.
spans 1.0 decode sampling
spans 0.0 prefill sampling
attention=$("$json" "$work/profile.json" prefill phases attention spans)
spans "$attention" decode attention
checks=$((checks + 1))
case $attention in
0.0) fail "no attention was seen" ;;
esac
# Every call is in a phase: shares add up to the whole, and none is slack by mistake.
for part in decode prefill; do
    checks=$((checks + 1))
    sum=$(for phase in linear attention kv_write gdn elementwise sampling copies launch_slack; do
        "$json" "$work/profile.json" $part phases $phase share
    done | awk '{ sum += $1 } END { print (sum > 0.999 && sum < 1.001) }')
    [ "$sum" = 1 ] || fail "the shares of $part do not add up"
done

expect 3 "$assay" profile
err 'MODEL is missing'
expect 3 "$assay" profile "$model" --cuda-graphs on
err '--cuda-graphs goes with --backend cuda'
expect 3 "$assay" profile "$model" --context 16777216
err 'positions'
expect 3 "$assay" profile "$model" --steps 0
err '--steps'
expect 3 "$assay" profile "$work/nothing"
err 'nothing'
finish
