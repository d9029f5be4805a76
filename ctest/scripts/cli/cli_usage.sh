#!/bin/sh
# SPDX-License-Identifier: MIT
# Help, version, wrong and contradictory options.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

expect 0 "$assay" --help
out 'Usage: assay'
out '  run '
out '  inspect '
out '  ops '
silent err
expect 0 "$assay" --version
out 'assay '
expect 3 "$assay"
err 'a command is missing'
silent out
expect 3 "$assay" rum
err 'there is no command "rum"'
expect 3 "$assay" --nonsense
silent out

for tool in run gate ledger inspect convert ops fuzz new-kernel; do
    expect 0 "$assay" $tool --help
    out "Usage: assay $tool"
    silent err
    expect 0 "$assay" $tool --version
    out 'assay '
done
expect 0 "$assay" run --help
out 'Examples:'
out '--gdn-state-fp16'

# One message each, exit code 3, nothing on standard output.
wrong() {
    message=$1
    shift
    expect 3 "$assay" "$@"
    err "$message"
    silent out
    checks=$((checks + 1))
    [ "$(grep -c "^assay" "$work/err")" -eq 1 ] || fail "not exactly one message"
}
wrong 'MODEL is missing' run
wrong '--prompt or --messages is missing' run "$model"
wrong '--prompt and --messages exclude each other' run "$model" --prompt a --messages b
wrong '--restore and --messages exclude each other' run "$model" --restore a --messages b
wrong '--restore takes --prompt with --raw only' run "$model" --restore a --prompt b
wrong '--restore and --no-thinking exclude each other' run "$model" --restore a --no-thinking
wrong '--raw has no effect without --prompt' run "$model" --restore a --raw
wrong '--raw and --messages exclude each other' run "$model" --raw --messages b
wrong '--raw and --no-thinking exclude each other' run "$model" --raw --prompt a --no-thinking
wrong '--greedy and --temperature above 0 exclude' run "$model" --prompt a --greedy --temperature 1
wrong '--top-k has no effect' run "$model" --prompt a --greedy --top-k 5
wrong '--seed has no effect' run "$model" --prompt a --seed 1
wrong '--ledger has no effect' run "$model" --prompt a --ledger x
wrong '--certificate has no effect' run "$model" --prompt a --certificate x
wrong '--certificate and --ledger exclude' run "$model" --prompt a --gdn-state-fp16 --certificate x --ledger y
wrong '--backend must be cpu, cuda or simt' run "$model" --prompt a --backend gpu
wrong '--device has no effect without --backend cuda' run "$model" --prompt a --device 0
wrong '--cuda-graphs on needs --backend cuda' run "$model" --prompt a --cuda-graphs on
wrong '--cuda-graphs must be on or off' run "$model" --prompt a --cuda-graphs maybe
wrong '--max-new must be a whole number' run "$model" --prompt a --max-new -1
wrong '--max-new must be a whole number' run "$model" --prompt a --max-new 1x
wrong '--max-new must be a whole number' run "$model" --prompt a --max-new 99999999999999999999
wrong '--temperature must be a number' run "$model" --prompt a --temperature nan
wrong '--top-p must be a number' run "$model" --prompt a --temperature 1 --top-p 0
wrong '--threads must be a whole number' run "$model" --prompt a --threads 0
wrong '--stats must be text, json or none' run "$model" --prompt a --stats xml
wrong 'one MODEL is enough' run "$model" other --prompt a
wrong 'MODEL is missing' inspect
wrong 'an action is missing' ledger
wrong 'there is no action "lost"' ledger lost
wrong 'diff needs 2 runs' ledger diff 1
wrong 'show takes at most 1 runs' ledger show 1 2
wrong 'certify needs --key' ledger certify 1
wrong '--key goes with certify' ledger show 1 --key x
wrong '--check goes with table' ledger list --check x
wrong '-o goes with' ledger list -o x
wrong 'there is no ledger' ledger list --ledger "$work/none"
wrong 'takes no argument' ops rope
wrong 'ASSAY_E_NOT_FOUND' run "$work/none" --prompt a
wrong 'ASSAY_E_NOT_FOUND' inspect "$work/none"
wrong 'ASSAY_E_NOT_FOUND' run "$model" --messages "$work/none.json"

# Release builds have no --ungated at all.
if "$assay" run --help | grep -q -e --ungated; then
    wrong '--ungated has no effect' run "$model" --prompt a --ungated
    wrong '--ungated and --ledger exclude' run "$model" --prompt a --gdn-state-fp16 --ungated \
        --ledger x
else
    expect 3 "$assay" run "$model" --prompt a --gdn-state-fp16 --ungated
    err 'unrecognized option'
fi
finish
