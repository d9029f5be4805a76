#!/bin/sh
# SPDX-License-Identifier: MIT
# The documented example passes assay verify --plugin; a descriptor repeats; wrong command lines.
# Usage: plugin_verify.sh PROGRAM EXAMPLE.so FAULTS.so
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
example=$2
faults=$3

expect 0 "$assay" verify --plugin "$example"
out 'rmsnorm.example'
out ' 0 bad, seed 1'
silent err
expect 0 "$assay" verify --plugin "$example" rmsnorm --seed 2 --full --jobs 3 --json "$work/report"
out ' 0 bad, seed 2'
checks=$((checks + 1))
grep -q '"route": "rmsnorm.example"' "$work/report" || fail "the report lacks the route"

# A descriptor, with and without the route.
expect 0 "$assay" verify --plugin "$example" 'rmsnorm H=65 y=bf16 layout=strided'
out 'rmsnorm.example: pass'
expect 0 "$assay" verify --plugin "$example" 'rmsnorm H=65 route=rmsnorm.example'
out 'rmsnorm.example: pass'
expect 3 "$assay" verify --plugin "$example" 'rmsnorm H=65 route=rmsnorm.plain.cpu'
err 'the plugin has no such route'
expect 3 "$assay" verify --plugin "$faults" 'rmsnorm H=65'
err 'the descriptor needs route=NAME'
expect 3 "$assay" verify --plugin "$example" 'rmsnorm Q=1'
err 'Q: no such parameter'
expect 3 "$assay" verify --plugin "$example" nonsense
err 'no route of the plugin is called so'
expect 3 "$assay" verify --plugin "$example" --oracle
err '--plugin goes with no other'
expect 3 "$assay" verify --plugin "$example" --backend cuda
err '--backend has no effect with --plugin'
expect 3 "$assay" verify --time-limit 3 rmsnorm
err '--time-limit and --threads go with --plugin'

# The right routes of the plugin with faults; one that takes only some calls.
expect 0 "$assay" verify --plugin "$faults" '*.good'
out 'rmsnorm.good'
out 'linear_grouped.good'
out ' 0 bad'
finish
