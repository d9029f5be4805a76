#!/bin/sh
# SPDX-License-Identifier: MIT
# Planted faults are seen by the evidence that can see them, and by no other: through the path that runs the faulty
# route, at the width where it is faulty, in the divergence where the loss is too blunt. Correct routes pass the same.
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"

if ! "$assay" perplexity --help | grep -q -e --ungated; then
    expect 3 "$assay" perplexity "$model" --ungated
    finish
fi
# 20 windows: enough for intervals, little enough for a test.
head -c 1500 "$(dirname "$model")/../corpora/heldout-prose.txt" >"$work/text.txt"
small="--threads 1 --text $work/text.txt --context 32 --stride 16 --tokens 340"
measure() {
    code_wanted=$1
    shift
    # shellcheck disable=SC2086
    expect "$code_wanted" "$assay" perplexity "$model" $small "$@"
}

# A head whose scales are 1 % too large: the loss hardly moves, the divergence does.
head='--ungated --lm-head-q4 --against lm-head-q4 --limit 0.03'
# shellcheck disable=SC2086
measure 0 $head --plant linear_grouped.mutant.scale_percent.cpu
out 'WITHIN: '
# shellcheck disable=SC2086
measure 1 $head --plant linear_grouped.mutant.scale_percent.cpu --kl-limit 1e-5
out 'PLANTED linear_grouped.mutant.scale_percent.cpu'
out 'BEYOND: the mean divergence is'
# shellcheck disable=SC2086
measure 0 $head --plant linear_grouped.mutant.control.cpu --kl-limit 1e-5
out 'WITHIN: '

# A state rounded to bf16: only where the state is stored after every token, and not by the loss.
state='--ungated --gdn-state-fp16 --against none --limit 0.03'
bf16=gdn_recurrent.mutant.state_bf16.cpu
# shellcheck disable=SC2086
measure 0 $state --through decode --kl-limit 1e-6
out 'WITHIN: '
# shellcheck disable=SC2086
measure 1 $state --through decode --plant $bf16 --kl-limit 1e-6
out 'BEYOND: the mean divergence is'
# shellcheck disable=SC2086
measure 2 $state --through prefill --plant $bf16 --kl-limit 1e-6
out 'ran 0 times: BLIND'
out 'INCONCLUSIVE: blind'

# A KV cache whose values come out of its format one step too large: in the divergence, on every path that reads it.
cache='--against none --limit 0.03 --kl-limit 1e-6 --plant qk_norm_rope_append.mutant'
for path in prefill decode; do
    # shellcheck disable=SC2086
    measure 1 $cache.v_table_shifted.cpu --through $path
    out 'BEYOND: the mean divergence is'
    # shellcheck disable=SC2086
    measure 0 $cache.control.cpu --through $path
    out 'WITHIN: '
done

# Right in prefill and token by token, wrong in steps of four tokens.
width=gdn_recurrent.mutant.width_four.cpu
# shellcheck disable=SC2086
measure 2 $state --through prefill --plant $width --kl-limit 1e-6
out 'INCONCLUSIVE: blind'
# shellcheck disable=SC2086
measure 0 $state --through width=2 --plant $width --kl-limit 1e-6
out 'WITHIN: '
# shellcheck disable=SC2086
measure 1 $state --through width=4 --plant $width --kl-limit 1e-6
out 'BEYOND: '
# The same where windows share steps: of three with two columns each, and four.
# shellcheck disable=SC2086
measure 0 $state --through lanes=3x2 --plant $width --kl-limit 1e-6
out 'through lanes=3x2'
out 'WITHIN: '
# shellcheck disable=SC2086
measure 1 $state --through lanes=3x4 --plant $width --kl-limit 1e-6
out 'BEYOND: '
finish
