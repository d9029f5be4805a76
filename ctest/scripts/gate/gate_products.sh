#!/bin/sh
# SPDX-License-Identifier: MIT
# Gates of integer products: blind on the bf16 model, decided on a converted one; a run may then use what passed, and
# what only takes a loss back needs no record.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

q4=$work/q4.assay
expect 0 "$assay" convert "$model" --recipe q4-mixed --output "$q4"

expect 2 "$assay" gate "$model" --trade mlp-a8-decode --quick
out 'INCONCLUSIVE: nll-width: blind'
err 'changes nothing until the model is converted'

expect 1 "$assay" run "$q4" --prompt a --max-new 2 --mlp-a8-decode
err "assay gate $q4 --trade mlp-a8-decode"
expect 0 "$assay" gate "$q4" --trade mlp-a8-decode --quick --html "$work/gate.html" --json "$work/gate.json"
out 'PASS: every limit of the policy is met'
holds "$work/gate.html" '<h2>The trade</h2>'
holds "$work/gate.html" 'choices changed at 16 columns'
holds "$work/gate.json" '"width_16_tokens_per_second"'
expect 0 "$assay" run "$q4" --prompt a --max-new 2 --mlp-a8-decode --no-prefill-a8 --stats json
err '"trades": "no-prefill-a8,mlp-a8-decode", "gate": "passed"'
err '"workspace": '

# The default's integer prefill against none: no record is needed to do without, or to use it.
expect 0 "$assay" gate "$q4" --trade no-prefill-a8 --quick
out '"without" is no-prefill-a8, "with" is the default'
out 'PASS: every limit of the policy is met'
expect 0 "$assay" run "$q4" --prompt a --max-new 2 --no-prefill-a8 --stats text
err 'gate not needed'

# The recipe stores the head as q6g64: asking for that changes nothing, and a gate of nothing is blind although other
# matrices take the same routes; fewer bits would be a second loss.
expect 0 "$assay" run "$q4" --prompt a --max-new 2 --lm-head-q6 --ungated
err 'lm_head: the model stores it as q6g64 already; the option changes nothing'
expect 2 "$assay" gate "$q4" --trade lm-head-q6 --quick
out 'nll-decode: blind, no route that the trade changes ran'
expect 3 "$assay" run "$q4" --prompt a --max-new 2 --lm-head-q4 --ungated
err 'is stored as q6g64 and cannot become q4g64 without a second loss: drop the option, or convert'

expect 3 "$assay" gate "$q4" --trade no-prefill-cublas-projections
err 'has no effect without prefill-cublas'
expect 1 "$assay" run "$q4" --prompt a --max-new 2 --prefill-cublas --no-prefill-cublas-projections
err "assay gate $q4 --trade prefill-cublas"
finish
