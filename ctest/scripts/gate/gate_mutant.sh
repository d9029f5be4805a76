#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate fails on a state that is rounded to bf16, by the drift, and records nothing that unlocks.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

mutant=gdn_recurrent.mutant.state_bf16.cpu
# shellcheck disable=SC2086
expect 1 "$assay" gate "$model" $trade --quick --plant $mutant --html "$work/gate.html"
out "PLANTED $mutant"
out 'FAIL: '
out 'drift: worst relative state error'
out 'recorded as run 1'
holds "$work/gate.html" 'Planted fault:'
expect 1 "$assay" run "$model" --prompt a --max-new 4 --gdn-state-fp16
err 'no gate record of these options'
# shellcheck disable=SC2086
expect 3 "$assay" gate "$model" $trade --quick --plant gdn_recurrent.mutant.none.cpu
err 'there is no mutant'
finish
