#!/bin/sh
# SPDX-License-Identifier: MIT
# Every trade of the policy on the mixture of experts: decided, or said not to apply; its losses are the reference's.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

command='assay gate --all'
"$assay" gate "$model" --all --quick >"$work/out" 2>"$work/err"
code=$?
worst=0
grep -q ' FAIL  *run ' "$work/out" && worst=1
checks=$((checks + 1))
[ "$code" -eq "$worst" ] || fail "exit code $code, the worst verdict is $worst"
out '0 inconclusive'
out 'run 1, '
expect 0 "$assay" ledger show 1
out 'FP64 reference'
checks=$((checks + 1))
grep -q '^baseline  *reference_difference_most .* met$' "$work/out" || fail 'the losses are not those of the reference'
expect 0 "$assay" ledger table -o "$work/table.md"
holds "$work/table.md" '## tiny-hybrid-moe'
finish
