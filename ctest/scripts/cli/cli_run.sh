#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs of the tiny model: text, marks, statistics, inspect and ops.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

expect 0 "$assay" run "$model" --prompt 'What is 12 times 10?' --max-new 24 --stats json
err '"prompt_tokens": '
err '"trades": "none", "gate": "not needed"'
checks=$((checks + 1))
[ -s "$work/out" ] || fail "no text"
cp "$work/out" "$work/first"

# The same text again, with other numbers of threads, and through a conversation file.
expect 0 "$assay" run "$model" --prompt 'What is 12 times 10?' --max-new 24 --stats none --threads 1
silent err
checks=$((checks + 1))
cmp -s "$work/first" "$work/out" || fail "another text with one thread"
printf '[{"role": "user", "content": "What is 12 times 10?"}]' >"$work/talk.json"
expect 0 "$assay" run "$model" --messages "$work/talk.json" --max-new 24 --stats none
checks=$((checks + 1))
cmp -s "$work/first" "$work/out" || fail "another text through --messages"

# The same seed, the same sample.
for pass in 1 2; do
    expect 0 "$assay" run "$model" --raw --prompt 'Call me' --max-new 16 --stats none \
        --temperature 0.9 --top-k 40 --top-p 0.95 --min-p 0.01 --seed 7 --presence 0.5
    mv "$work/out" "$work/sample$pass"
    : >"$work/out"
done
checks=$((checks + 1))
cmp -s "$work/sample1" "$work/sample2" || fail "one seed, two texts"

# No new tokens: an empty line. A context too small for the prompt.
expect 0 "$assay" run "$model" --raw --prompt 'Call me' --max-new 0 --stats text
err 'new 0 tokens'
expect 3 "$assay" run "$model" --raw --prompt 'Call me Ishmael, some years ago' --context 2
err 'ASSAY_E_FULL'
expect 3 "$assay" run "$model" --raw --prompt ''
err 'is empty'
printf '[{"role": "nobody", "content": "x"}]' >"$work/bad.json"
expect 3 "$assay" run "$model" --messages "$work/bad.json"
err 'ASSAY_E_PARSE'

# A trade without a record is refused with the command that decides; nothing is generated.
expect 1 "$assay" run "$model" --prompt a --gdn-state-fp16 --ledger "$work/ledger.sqlite"
err 'ASSAY_E_GATE'
err "assay gate $model --trade gdn-state-fp16 --ledger $work/ledger.sqlite"
silent out

# An ungated run is marked in its first and last line; release builds have none.
if "$assay" run --help | grep -q -e --ungated; then
    expect 0 "$assay" run "$model" --prompt 'What is 12 times 10?' --max-new 8 --gdn-state-fp16 --ungated
    mark='UNGATED: gdn-state-fp16'
    checks=$((checks + 1))
    [ "$(head -n 1 "$work/err")" = "$mark" ] || fail "first line is not the mark"
    [ "$(tail -n 1 "$work/err")" = "$mark" ] || fail "last line is not the mark"
    err 'gate UNGATED, their routes ran'
    expect 3 "$assay" run "$work/none" --prompt a --gdn-state-fp16 --ungated
    checks=$((checks + 1))
    [ "$(tail -n 1 "$work/err")" = "$mark" ] || fail "an error hides the mark"
fi

expect 0 "$assay" inspect "$model"
out 'hidden size       256'
out 'lllFlllF'
out 'model.embed_tokens.weight'
out 'KV cache          2048 bytes a token'
expect 0 "$assay" inspect "$model" --json --digest
out '"digest": "'
out '"kv_bytes_per_token": 2048'
out '"recurrent_bytes_f32": 786432'

expect 0 "$assay" ops
out 'attention: '
out 'gdn_recurrent.state16'
expect 0 "$assay" ops --markdown
out '| route | profile |'
finish
