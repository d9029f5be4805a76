#!/bin/sh
# SPDX-License-Identifier: MIT
# Command lines, policies and environments that stop the gate before it takes evidence.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

expect 0 "$assay" gate --help
out '--plant=MUTANT'
expect 3 "$assay" gate
err 'MODEL is missing'
expect 3 "$assay" gate "$model"
err '--trade is missing'
expect 3 "$assay" gate "$model" --trade gdn-state-fp8
err 'known: gdn-state-fp16'
expect 3 "$assay" gate "$model" --trade gdn-state-fp16,lm-head-q6
err 'several together: --set'
expect 3 "$assay" gate "$model" --set lm-head-q4,lm-head-q6
err 'cannot be combined with'
expect 3 "$assay" gate "$model" --set gdn-state-fp16,lm-head-q5
err 'unknown trade "lm-head-q5"'
expect 3 "$assay" gate "$model" --all --trade gdn-state-fp16
err '--all excludes --trade'
expect 3 "$assay" gate "$model" --all --json x
err 'reports are of one gate'
expect 3 "$assay" gate "$model" --all --compare 7
err '--compare takes LAST'
expect 3 "$assay" gate "$model" --trade gdn-state-fp16 --fresh
err '--fresh goes with --all'
expect 3 "$assay" gate "$model" --new-key "$work/key"
err 'take no MODEL'
expect 3 "$assay" gate --trusted "$work/key"
err '--trusted goes with --verify-certificate'
expect 3 "$assay" gate --verify-certificate "$work/none"
err 'ASSAY_E_NOT_FOUND'
# shellcheck disable=SC2086
expect 3 "$assay" gate "$work/none" $trade
err 'ASSAY_E_NOT_FOUND'
# shellcheck disable=SC2086
expect 3 "$assay" gate "$model" $trade --data "$work"
err 'holds no corpora'
printf '{"version": 1, "trade": {}}' >"$work/policy.json"
# shellcheck disable=SC2086
expect 3 "$assay" gate "$model" $trade --policy "$work/policy.json"
err 'unknown key "trade"'
# shellcheck disable=SC2086
expect 3 "$assay" gate "$model" $trade --ledger "$work/none/ledger.sqlite"
err 'must exist and be writable'
printf 'no ledger\n%0200d' 0 >"$work/text"
# shellcheck disable=SC2086
expect 3 "$assay" gate "$model" $trade --ledger "$work/text"
err 'not a sound SQLite file'
err 'name another file with --ledger'
expect 3 "$assay" ledger list --ledger "$work/text"
err 'not a sound SQLite file'
expect 3 "$assay" run "$model" --prompt a --gdn-state-fp16 --ledger "$work/text"
err 'not a sound SQLite file'

# Interrupted: no verdict, nothing recorded. (In the foreground: else timeout signals twice, and the second kills.)
# shellcheck disable=SC2086
expect 130 timeout --foreground --preserve-status -s INT 2 "$assay" gate "$model" $trade --ledger "$work/ledger.sqlite"
err 'nothing was recorded'
expect 1 "$assay" run "$model" --prompt a --gdn-state-fp16 --ledger "$work/ledger.sqlite"
err 'no gate record of these options'
finish
