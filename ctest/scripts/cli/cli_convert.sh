#!/bin/sh
# SPDX-License-Identifier: MIT
# assay convert: what it makes, and that whatever stops it leaves nothing behind.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

mkdir "$work/made"

# nothing LABEL: the folder of outputs is empty.
nothing() {
    checks=$((checks + 1))
    [ -z "$(ls -A "$work/made")" ] || fail "$1 leaves $(ls -A "$work/made")"
}

wrong() {
    text=$1
    shift
    expect 3 "$assay" convert "$@"
    err "$text"
    nothing "$text"
}

wrong 'MODEL is missing' --recipe q8 -o "$work/made/x.assay"
wrong '--recipe is missing' "$model" -o "$work/made/x.assay"
wrong '--output is missing' "$model" --recipe q8
wrong '--encoder must be' "$model" --recipe q8 --encoder best -o "$work/made/x.assay"
wrong 'neither a built-in recipe' "$model" --recipe q9 -o "$work/made/x.assay"
wrong 'is there already' "$model" --recipe q8 -o /dev/full
echo '{"rules": [{"pattern": "*.down", "format": "q8g32"}]}' >"$work/r.json"
wrong 'rule 0 fits no matrix' "$model" --recipe "$work/r.json" -o "$work/made/x.assay"

# A limit on file sizes ends a write as a full disk does.
command='convert, no room'
(ulimit -f 100 && exec "$assay" convert "$model" --recipe q8 -o "$work/made/x.assay") \
    >"$work/out" 2>"$work/err"
code=$?
checks=$((checks + 1))
[ "$code" -eq 3 ] || fail "exit code $code, expected 3"
err 'no room'
nothing 'a full disk'

# Ctrl-C while rows are encoded: the temporary folder is there, and goes.
command='convert, interrupted'
"$assay" convert "$model" --recipe q4-mixed --encoder grouped --jobs 1 -o "$work/made/x.assay" \
    >"$work/out" 2>"$work/err" &
process=$!
tries=0
while [ -z "$(ls -A "$work/made")" ] && [ "$tries" -lt 400 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
kill -INT "$process"
wait "$process"
code=$?
checks=$((checks + 1))
[ "$code" -eq 130 ] || fail "exit code $code, expected 130"
err 'ASSAY_E_CANCELLED'
nothing 'an interrupt'

expect 0 "$assay" convert "$model" --recipe q4-mixed -o "$work/made/x.assay"
out '124 tensors'
expect 0 "$assay" inspect "$work/made/x.assay" --verify --against "$model"
out 'every tensor has its digest'
out 'q4g64 [1024, 256] 139264 bytes, relative L2 error 0.1'
out '4.25 bits an element'
out 'hidden size       256'
expect 0 "$assay" convert "$model" --recipe bf16 -o "$work/made/y.assay"
expect 0 "$assay" run "$model" --raw --prompt 'Once upon' --max-new 12
cp "$work/out" "$work/expected"
expect 0 "$assay" run "$work/made/y.assay" --raw --prompt 'Once upon' --max-new 12
checks=$((checks + 1))
cmp -s "$work/out" "$work/expected" || fail "the bf16 folder says something else"

command='inspect, a changed byte'
printf 'x' | dd of="$work/made/x.assay/payload.bin" bs=1 seek=4096 conv=notrunc 2>/dev/null
expect 3 "$assay" inspect "$work/made/x.assay" --verify
err 'lm_head.weight'
finish
