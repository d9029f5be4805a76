#!/bin/sh
# SPDX-License-Identifier: MIT
# assay run --save and --restore: a run that is interrupted and goes on in another process ends with
# the same file, byte for byte (tokens, passes, KV rows, states), as one that is not.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# law MODEL OPTION...: 14 tokens at once; 5, then 9 more.
prompt='Call me Ishmael. Some years ago - never mind how long precisely - having little or no
money in my purse, and nothing particular to interest me on shore, I thought I would sail about a
little and see the watery part of the world. It is a way I have of driving off the spleen.'
law() {
    law_model=$1
    shift
    expect 0 "$assay" run "$law_model" --raw --prompt "$prompt" --max-new 14 --stats none \
        --save "$work/whole" "$@"
    mv "$work/out" "$work/text"
    expect 0 "$assay" run "$law_model" --raw --prompt "$prompt" --max-new 5 --stats none \
        --save "$work/part" "$@"
    mv "$work/out" "$work/begin"
    expect 0 "$assay" run "$law_model" --restore "$work/part" --max-new 9 --stats none \
        --save "$work/rest" "$@"
    same "$work/whole" "$work/rest"
    checks=$((checks + 1))
    [ "$(tr -d '\n' <"$work/text")" = "$(cat "$work/begin" "$work/out" | tr -d '\n')" ] ||
        fail "another text"
}
law "$model"
cp "$work/part" "$work/plain"
expect 0 "$assay" convert "$model" --recipe q4-mixed -o "$work/q4"
cp "$model"/tokenizer*.json "$work/q4"
law "$work/q4"
if "$assay" run --help | grep -q -e --ungated; then
    law "$model" --gdn-state-fp16 --embedding-q4 --ungated
    law "$work/q4" --prefill-cublas --gdn-state-fp16 --ungated
    # What the saved session had is named, and what this one has.
    expect 3 "$assay" run "$model" --restore "$work/plain" --embedding-q4 --ungated
    err 'format of the embedding: the saved session had bf16, this one has q4g64'
    expect 3 "$assay" run "$model" --restore "$work/plain" --gdn-state-fp16 --ungated
    err 'format of recurrent states: the saved session had f32, this one has f16'
fi
law "$model" --threads 1

# Converted to other weights, the same model is another one; to the same weights, it is not.
expect 3 "$assay" run "$work/q4" --restore "$work/plain"
err 'the saved session had bf16, this one has'
expect 0 "$assay" convert "$model" --recipe q8 -o "$work/q8"
cp "$model"/tokenizer*.json "$work/q8"
expect 0 "$assay" run "$work/q4" --raw --prompt 'Call me' --max-new 2 --save "$work/part"
expect 3 "$assay" run "$work/q8" --restore "$work/part"
expect 0 "$assay" convert "$model" --recipe bf16 -o "$work/bf16"
cp "$model"/tokenizer*.json "$work/bf16"
expect 0 "$assay" run "$work/bf16" --restore "$work/plain" --max-new 3

# A stop token ends a text that the session has seen already: nothing is counted twice.
expect 0 "$assay" run "$model" --prompt 'What is 12 times 10?' --max-new 200 --stats json \
    --save "$work/stopped"
err '"ended_by": "stop token"'
tokens=$(sed -n 's/.*"prompt_tokens": \([0-9]*\),.*"new_tokens": \([0-9]*\),.*/\1 \2/p' "$work/err")
checks=$((checks + 1))
# shellcheck disable=SC2086
set -- $tokens
[ "$(od -An -tu8 -j24 -N8 "$work/stopped" | tr -d ' ')" = $(($1 + $2)) ] ||
    fail "the file does not hold prompt and new tokens"

# More text; room; files that are none.
expect 0 "$assay" run "$model" --restore "$work/plain" --raw --prompt ' And then' --max-new 3
expect 3 "$assay" run "$model" --restore "$work/plain" --context 20
err 'ASSAY_E_FULL'
expect 3 "$assay" run "$model" --restore "$work/absent"
err 'ASSAY_E_NOT_FOUND'
expect 3 "$assay" run "$model" --restore "$model/config.json"
err 'is no saved session'
head -c 5000 "$work/plain" >"$work/cut"
expect 3 "$assay" run "$model" --restore "$work/cut"
err 'it was cut'
expect 3 "$assay" run "$model" --raw --prompt a --max-new 1 --save "$work/no/folder"
err 'ASSAY_E_IO'
finish
