#!/bin/sh
# SPDX-License-Identifier: MIT
# assay bisect names the call, the place and the side: a planted fault, a setting that acts, a difference that is only
# passed on, and what it refuses.
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"

expect 0 "$assay" bisect --help
out 'Usage: assay bisect'
out 'Examples:'

# Nothing differs; then rounding differs everywhere and is within the allowances or passed on.
expect 0 "$assay" bisect "$model" none none --tokens 5
silent err
out 'the runs do not part'
expect 0 "$assay" bisect "$model" none none+linear.bf16.plain.cpu --tokens 5 --all
out 'the runs do not part'

# A fault of width 4: first layer that runs it, on the side that has it; not seen at width 2.
width=gdn_recurrent.mutant.width_four.cpu
expect 1 "$assay" bisect "$model" none none+$width --tokens 8 --through width=4
out 'of pass 0, gdn_recurrent o'
out 'model.layers.0.linear_attn'
out "| $width"
out "cause        side B's route is beyond its allowance"
expect 1 "$assay" bisect "$model" none+$width none --tokens 8 --through width=4
out "cause        side A's route is beyond its allowance"
expect 0 "$assay" bisect "$model" none none+$width --tokens 8 --through width=2
out 'the runs do not part'

# A setting that acts where it should: both routes right, results apart; and a fault in it.
if "$assay" bisect --help | grep -q -e --ungated; then
    expect 1 "$assay" bisect "$model" none lm-head-q4 --ungated --tokens 3
    err 'UNGATED: lm-head-q4'
    out 'linear_grouped y'
    out 'model.norm.weight'
    out 'the settings act here'
    expect 1 "$assay" bisect "$model" lm-head-q4 lm-head-q4+linear_grouped.mutant.scale_percent.cpu --ungated --tokens 3
    out "cause        side B's route is beyond its allowance"
    expect 0 "$assay" bisect "$model" lm-head-q4 lm-head-q4+linear_grouped.mutant.control.cpu --ungated --tokens 3
fi

# wrong MESSAGE ARGUMENT...
wrong() {
    message=$1
    shift
    expect 3 "$assay" bisect "$@"
    err "$message"
    silent out
}
wrong 'MODEL and two settings are missing'
wrong 'a setting is missing' "$model" none
wrong 'found "none" as well' "$model" none none none
wrong 'unknown trade "fp8"' "$model" none fp8
wrong '--through must be prefill, decode or width=N' "$model" none none --through lanes=2
wrong '--backend must be cpu or simt' "$model" none none --backend cuda
wrong 'ASSAY_E_NOT_FOUND' "$work/none" none none
expect 3 "$assay" bisect "$model" none none+linear.none.cpu
err 'there is no route and no mutant "linear.none.cpu"'
XDG_DATA_HOME=$work/data
export XDG_DATA_HOME
expect 1 "$assay" bisect "$model" none lm-head-q4
err "assay gate $model --trade lm-head-q4"
finish
