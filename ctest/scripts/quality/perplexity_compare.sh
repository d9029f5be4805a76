#!/bin/sh
# SPDX-License-Identifier: MIT
# Reports of assay perplexity: losses by text and domain, paths proven by counters, comparisons, power. Third argument:
# the program json_field.
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
json=$3

# is VALUE PATH...: the report has the value there.
is() {
    checks=$((checks + 1))
    value=$1
    shift
    got=$("$json" "$work/report.json" "$@" 2>&1)
    [ "$got" = "$value" ] || fail "$* is $got, expected $value"
}

# Own texts: two of one domain. Each token but the first is scored once, in windows that overlap.
corpora=$(dirname "$model")/../corpora
head -c 1200 "$corpora/heldout-prose.txt" >"$work/one.txt"
head -c 900 "$corpora/heldout-structured.txt" >"$work/two.txt"
expect 0 "$assay" perplexity "$model" --text "mixed=$work/one.txt" --text "mixed=$work/two.txt" --text "$work/one.txt" \
    --context 128 --stride 64 --threads 1 --windows --json "$work/report.json"
silent err
out 'stream   two.txt'
out 'domain   mixed'
out 'domain   one'
out 'window   64 one.txt'
out 'gdn_recurrent 0'
is '"one.txt"' streams 0 name
is '"mixed"' streams 1 domain
is '"REPORTED"' verdict
is '[]' comparisons
is 1 windows 0 first_scored
is 64 windows 1 first_scored
is 0 sources 0 gdn_recurrent
checks=$((checks + 1))
sum=$(for stream in 0 1 2; do "$json" "$work/report.json" streams $stream tokens; done | awk '{ n += $1 } END { print n }')
[ "$sum" = "$("$json" "$work/report.json" overall tokens)" ] || fail "the streams' tokens are $sum"
# The same text in two places has the same loss, to the bit.
is "$("$json" "$work/report.json" streams 0 nats_per_token)" streams 2 nats_per_token

# Enough texts: they are the units then, whatever their domains.
texts=''
for part in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21; do
    tail -c +$((1 + 900 * ${part#0})) "$corpora/heldout-prose.txt" | head -c 100 >"$work/part$part.txt"
    texts="$texts --text part=$work/part$part.txt"
done
# shellcheck disable=SC2086
expect 0 "$assay" perplexity "$model" $texts --context 32 --stride 16 --threads 1 --against none \
    --json "$work/report.json"
is '"documents"' comparisons 0 level
is 22 comparisons 0 nll_change documents units

# A setting against itself: exactly nothing, through every path; nothing differs, so nothing is blind.
for through in prefill decode width=3; do
    expect 0 "$assay" perplexity "$model" --text "$work/one.txt" --context 64 --stride 32 --tokens 200 --threads 1 \
        --through $through --against none --json "$work/report.json"
    is 0.0 comparisons 0 kl largest
    is 0.0 comparisons 0 nll_change blocks mean
    is 1.0 comparisons 0 same_top mean
    is 0.0 floor itself kl largest
    is null coverage
    [ $through = prefill ] || is 0 sources 1 gdn_chunked
done
out 'through width=3'
out 'passes of 2 against 3'

# Too few tokens to decide; a limit that nothing breaks; both against the oracle.
if "$assay" perplexity --help | grep -q -e --ungated; then
    few="--ungated --lm-head-q4 --against none --threads 1 --context 64 --stride 32"
    # shellcheck disable=SC2086
    expect 2 "$assay" perplexity "$model" $few --tokens 60 --limit 0.001
    out 'INCONCLUSIVE: '
    out 'too few for an interval'
    err 'UNGATED: lm-head-q4'
    # shellcheck disable=SC2086
    expect 2 "$assay" perplexity "$model" $few --tokens 255 --limit 1e-5 --json "$work/report.json"
    out 'INCONCLUSIVE: too few tokens'
    out 'at 80 % power'
    is '"windows"' comparisons 0 level
    is 21 coverage
    # shellcheck disable=SC2086
    expect 0 "$assay" perplexity "$model" $few --tokens 255 --limit 5 --kl-limit 5
    out 'WITHIN: '
    # shellcheck disable=SC2086
    expect 0 "$assay" perplexity "$model" $few --tokens 20 --oracle --json "$work/report.json"
    is '"oracle"' comparisons 1 base
    is '"lm-head-q4"' comparisons 2 other
fi
finish
