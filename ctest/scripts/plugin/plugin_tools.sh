#!/bin/sh
# SPDX-License-Identifier: MIT
# The way of docs/validate-your-kernel.md: a template that compiles and is "not written", fuzzing,
# benchmarks.
# Usage: plugin_tools.sh PROGRAM EXAMPLE.so FAULTS.so
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
example=$2
faults=$3

# The template of every op compiles without a warning.
for op in $("$assay" ops | sed -n 's/^\([a-z0-9_]*\): .*/\1/p'); do
    expect 0 "$assay" new-kernel "$op" -o "$work/$op"
    out 'next: make -C'
    expect 0 make -s -C "$work/$op" CFLAGS='-std=c17 -O0 -Wall -Wextra -Wpedantic -Wconversion -Werror'
    silent err
done
cmp -s "$work/rmsnorm/plugin.h" "$work/rope/plugin.h" || fail "two headers"
expect 1 "$assay" verify --plugin "$work/rmsnorm/rmsnorm_kernel.so"
out 'FAILED rmsnorm.kernel: status: returned ASSAY_E_ARG: not written'
expect 1 "$assay" verify --plugin "$work/rope/rope_kernel.so" 'rope T=5'
out 'not written'

# It overwrites nothing, and knows what it was asked for.
echo mine >"$work/rmsnorm/rmsnorm_kernel.c"
expect 3 "$assay" new-kernel rmsnorm -o "$work/rmsnorm"
err 'is there already and stays as it is'
checks=$((checks + 1))
[ "$(cat "$work/rmsnorm/rmsnorm_kernel.c")" = mine ] || fail "the file was overwritten"
expect 3 "$assay" new-kernel
err 'OP is missing'
expect 3 "$assay" new-kernel softmax
err 'there is no op "softmax"'
expect 3 "$assay" new-kernel rmsnorm -o "$work/none/none"
err 'cannot be made'

expect 0 "$assay" fuzz --plugin "$example" --seconds 1
out ' 0 bad'
expect 1 "$assay" fuzz --plugin "$faults" --seconds 1 rmsnorm.tail
out 'FAILED rmsnorm.tail'
out 'repeat: assay verify --plugin'
expect 1 "$assay" fuzz --plugin "$faults" --seconds 2 --seed 2 rmsnorm.crash
out 'crashed: ended by signal'
expect 3 "$assay" fuzz --seconds 1
err '--plugin FILE is missing'
expect 3 "$assay" fuzz --plugin "$example" 'rmsnorm H=3'
err 'a descriptor is one case'
expect 3 "$assay" fuzz --plugin "$work/none.so"
err 'there is no such file'

cat >"$work/deck" <<'DECK'
rmsnorm rows=3 H=128
rmsnorm rows=17 H=128
rmsnorm rows=4 H=128
DECK
expect 0 "$assay" bench --plugin "$example" --deck "$work/deck" --seconds 0.02 --json "$work/json"
out 'rmsnorm.example takes '
out 'of the memory floor'
checks=$((checks + 1))
[ "$(grep -c '"route": "rmsnorm.example"' "$work/json")" -eq 3 ] || fail "not three rows"
# A route ends the process on the second case: said so, and the third is measured.
expect 1 "$assay" bench --plugin "$faults" --deck "$work/deck" --seconds 0.02 --time-limit 0.5
err 'crashed: ended its process with exit code 0 in run()'
err "repeat: assay verify --plugin $faults 'rmsnorm rows=17"
err 'route=rmsnorm.exit'
checks=$((checks + 1))
[ "$(grep -c 'rmsnorm.tail  .* rows=' "$work/out")" -eq 3 ] || fail "the third case was not measured"
echo 'rmsnorm rows=17 route=rmsnorm.hang' >"$work/deck"
expect 1 "$assay" bench --plugin "$faults" --deck "$work/deck" --seconds 0.02 --time-limit 0.5
err 'hung: stopped after 0.5 s in run()'
expect 3 "$assay" bench --plugin "$example" --deck "$work/none"
err 'No such file'
echo 'rope T=3' >"$work/deck"
expect 3 "$assay" bench --plugin "$example" --deck "$work/deck"
err "no deck has a case of the plugin's ops"
finish
