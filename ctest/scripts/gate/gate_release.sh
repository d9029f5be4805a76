#!/bin/sh
# SPDX-License-Identifier: MIT
# Every trade of the policy on a bundled model: decided, recorded, taken up again after an interruption and a kill,
# certified. Which of them pass on little evidence is the policy's business.
# shellcheck source-path=SCRIPTDIR source=gate_support.sh
. "$(dirname "$0")/gate_support.sh"

# Killed after the first gate is in the ledger: nothing that was complete is lost, the rest is not there.
command='assay gate --all, killed'
"$assay" gate "$model" --all --quick >"$work/out" 2>"$work/err" &
gate=$!
while kill -0 "$gate" 2>/dev/null && ! grep -q ' run 1, ' "$work/out"; do
    sleep 0.2
done
kill -9 "$gate" 2>/dev/null
wait "$gate" 2>/dev/null
expect 0 "$assay" ledger list
out '    1  20'
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "not exactly one run"

# The same command goes on with the second, and says what is worse than before where there is a before.
"$assay" gate "$model" --all --quick --compare LAST >"$work/out" 2>"$work/err"
code=$?
command='assay gate --all'
worst=0
grep -q ' FAIL  *run ' "$work/out" && worst=1
checks=$((checks + 1))
[ "$code" -eq "$worst" ] || fail "exit code $code, the worst verdict is $worst"
out 'run 1, '
out 'already in the ledger'
out '0 inconclusive'
err 'gate 2 of '
cp "$work/out" "$work/all"
expect "$code" "$assay" gate "$model" --all --quick
checks=$((checks + 1))
[ "$(grep -c 'already in the ledger' "$work/out")" -eq "$(grep -c ' run [0-9]*, ' "$work/all")" ] ||
    fail "something was run again"

# All of them on one page.
expect 0 "$assay" ledger table --html -o "$work/page.html"
command='assay ledger table --html'
for part in '<circle' '</html>' 'bytes saved' 'not gated' 'every limit of the policy is met'; do
    checks=$((checks + 1))
    grep -q "$part" "$work/page.html" || fail "the page has no $part"
done
checks=$((checks + 1))
grep -q nan "$work/page.html" && fail 'the page holds a NaN'
expect 3 "$assay" ledger list --html

# Another seed is another run, and so is another build.
expect 130 timeout --foreground --preserve-status -s INT 2 "$assay" gate "$model" --all --quick --seed 2
err 'the same command goes on'
cp "$assay" "$work/assay"
printf x >>"$work/assay"
expect 130 timeout --foreground --preserve-status -s INT 2 "$work/assay" gate "$model" --all --quick
expect 3 "$assay" gate "$model" --trade embedding-q6 --quick --compare 1
err 'run 1 is of gdn-state-fp16'
expect 3 "$assay" gate "$model" --trade embedding-q6 --quick --compare 99
err 'holds no run 99'

# Two options together are a question of their own.
expect 1 "$assay" run "$model" --prompt a --gdn-state-fp16 --embedding-q6
err "assay gate $model --set gdn-state-fp16,embedding-q6"
expect 0 "$assay" gate "$model" --set embedding-q6,gdn-state-fp16 --quick
out 'gate gdn-state-fp16,embedding-q6 on'
expect 0 "$assay" run "$model" --prompt a --max-new 2 --gdn-state-fp16 --embedding-q6 --stats json
err '"trades": "gdn-state-fp16,embedding-q6", "gate": "passed"'

expect 0 "$assay" ledger show 1
out 'gdn-state-fp16'
out 'record         whole'
expect 0 "$assay" ledger diff 1 2
out 'gdn-state-fp16 -> '
expect 0 "$assay" ledger export -o "$work/history.json"
holds "$work/history.json" '"corpus_digest"'
expect 0 "$assay" ledger table -o "$work/table.md"
holds "$work/table.md" '| gdn-state-fp16,embedding-q6 | '
expect 0 "$assay" ledger table --check "$work/table.md"
sed 's/gdn-state-fp16 | /gdn-state-fp16 | not /' "$work/table.md" >"$work/other.md"
expect 3 "$assay" ledger table --check "$work/other.md"
err 'writes it now'

# A certificate does what the record does, on a machine without the ledger.
expect 0 "$assay" gate --new-key "$work/key"
expect 3 "$assay" gate --new-key "$work/key"
err 'never overwritten'
expect 0 "$assay" ledger certify 1 --key "$work/key" -o "$work/certificate.json"
out 'certified'
ASSAY_TRUSTED_KEYS=$work/key.pub
export ASSAY_TRUSTED_KEYS
expect 0 "$assay" gate --verify-certificate "$work/certificate.json"
out 'verdict  PASS'
expect 0 env XDG_DATA_HOME="$work/none" "$assay" run "$model" --prompt a --max-new 2 --gdn-state-fp16 \
    --certificate "$work/certificate.json" --stats json
err '"gate": "certified"'
expect 1 "$assay" run "$model" --prompt a --embedding-q6 --certificate "$work/certificate.json"
err 'is for another set of options'
sed 's/"seed":1/"seed":2/' "$work/certificate.json" >"$work/changed.json"
expect 3 "$assay" run "$model" --prompt a --gdn-state-fp16 --certificate "$work/changed.json"
err 'it was changed after it was signed'
expect 3 "$assay" gate --verify-certificate "$work/certificate.json" --trusted "$work/all"
err 'is no public key'
finish
