#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate passes on the bundled model with its FP64 references, and assay run then allows the trade: for exactly
# this model, build and policy.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

# Before: refused, with the command that decides.
expect 1 "$assay" run "$model" --prompt a --max-new 4 --gdn-state-fp16
err 'there is no ledger'
err "assay gate $model --trade gdn-state-fp16"

# shellcheck disable=SC2086
expect 0 "$assay" gate "$model" $trade --quick --json "$work/gate.json" --html "$work/gate.html" --junit "$work/gate.xml"
out 'bundled, with FP64 references'
out 'PASS: every limit of the policy is met'
out "recorded as run 1 in $ledger"
holds "$work/gate.json" '"verdict": "PASS"'
holds "$work/gate.html" '<polyline'
holds "$work/gate.xml" 'failures="0" skipped="0"'
for text in blind missing broken 'not applicable'; do
    lacks "$work/out" "$text"
done

expect 0 "$assay" run "$model" --prompt a --max-new 4 --gdn-state-fp16 --stats json
err '"trades": "gdn-state-fp16", "gate": "passed"'

# Data that does not say whether the model has references: less evidence is no pass.
mkdir "$work/golden"
cp -r "$(dirname "$model")/../corpora" "$work/golden/"
# shellcheck disable=SC2086
expect 2 "$assay" gate "$model" $trade --quick --ledger "$work/other.sqlite" --data "$work/golden"
out 'INCONCLUSIVE: baseline: missing: whether the model has a reference is unknown'

# Another model: one byte of the weights.
cp -r "$model" "$work/model"
chmod -R u+w "$work/model"
weights=$(find "$work/model" -name '*.safetensors' | sort | head -n 1)
size=$(wc -c <"$weights")
last=$(tail -c 1 "$weights" | od -An -tu1 | tr -d ' ')
printf "\\$(printf '%03o' $((last ^ 1)))" | dd of="$weights" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
expect 1 "$assay" run "$work/model" --prompt a --max-new 4 --gdn-state-fp16
err 'is for another model'

# Another build: the program with a byte more.
cp "$assay" "$work/assay"
printf x >>"$work/assay"
expect 1 "$work/assay" run "$model" --prompt a --max-new 4 --gdn-state-fp16
err 'is for another build'
expect 0 "$work/assay" run "$model" --prompt a --max-new 4
finish
