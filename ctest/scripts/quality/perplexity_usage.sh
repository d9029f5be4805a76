#!/bin/sh
# SPDX-License-Identifier: MIT
# Command lines of assay perplexity that are refused, and why.
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"

expect 0 "$assay" perplexity --help
out 'Usage: assay perplexity'
out 'Examples:'
out '--gdn-state-fp16'
silent err

# One message, exit code 3, nothing on standard output.
wrong() {
    message=$1
    shift
    expect 3 "$assay" perplexity "$@"
    err "$message"
    silent out
}
wrong 'MODEL is missing'
wrong 'one MODEL is enough' "$model" other
wrong '--through must be prefill, decode, width=N, lanes=N or lanes=NxC, is "sideways"' "$model" --through sideways
wrong '--through width must be a whole number from 1 to 32' "$model" --through width=33
wrong '--through lanes must be a whole number from 1 to 32' "$model" --through lanes=33
wrong 'columns of each must be a whole number from 1 to 4' "$model" --through lanes=8x5
wrong 'columns of each must be a whole number' "$model" --through lanes=8x
wrong '--chunk has no effect without --through prefill' "$model" --through decode --chunk 8
wrong '--stride must be below the context' "$model" --context 64 --stride 64
wrong '--against fp8: unknown trade' "$model" --against fp8
wrong '--limit and --kl-limit need --against' "$model" --limit 0.1
wrong '--limit must be a number' "$model" --against none --limit 0
wrong '--oracle goes with --against' "$model" --oracle
wrong '--oracle goes with --against' "$model" --oracle --against oracle
wrong '--data has no effect with --text' "$model" --data . --text a
wrong '--device has no effect without --backend cuda' "$model" --device 0
wrong '--ledger has no effect without a lossy option' "$model" --ledger x
wrong '--embedding-q4 cannot be combined with embedding-q6' "$model" --embedding-q4 --embedding-q6
wrong 'positions' "$model" --context 1000000
wrong 'ASSAY_E_NOT_FOUND' "$work/none"
wrong 'ASSAY_E_NOT_FOUND' "$model" --text "$work/none.txt"
wrong 'holds no corpora' "$model" --data "$work"
printf 'a' >"$work/short.txt"
wrong 'no text has two tokens' "$model" --text "$work/short.txt"
printf '\377\376 not text' >"$work/bytes.txt"
wrong 'ASSAY_E_PARSE' "$model" --text "$work/bytes.txt"
wrong 'there is no mutant' "$model" --plant gdn_recurrent.mutant.none.cpu

# A lossy option needs its gate, also as the other side.
XDG_DATA_HOME=$work/data
export XDG_DATA_HOME
expect 1 "$assay" perplexity "$model" --gdn-state-fp16
err "assay gate $model --trade gdn-state-fp16"
expect 1 "$assay" perplexity "$model" --against lm-head-q4
err "assay gate $model --trade lm-head-q4"
if "$assay" perplexity --help | grep -q -e --ungated; then
    wrong '--ungated and --ledger exclude' "$model" --gdn-state-fp16 --ungated --ledger x
fi

# Interrupted: no report. (In the foreground: else timeout signals twice, and the second kills.)
expect 130 timeout --foreground --preserve-status -s INT 2 "$assay" perplexity "$model" --through decode \
    --json "$work/interrupted.json"
err 'stopped after'
silent out
checks=$((checks + 1))
[ ! -e "$work/interrupted.json" ] || fail 'an interrupted run left a report'
finish
