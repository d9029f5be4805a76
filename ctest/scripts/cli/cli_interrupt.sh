#!/bin/sh
# SPDX-License-Identifier: MIT
# Ctrl-C: text so far is complete, statistics follow, exit code 130.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

# A shell without job control starts background jobs with SIGINT ignored, which the program's own
# handler replaces. It is installed before the model is opened, so the first text proves it there.
command='run, interrupted'
"$assay" run "$model" --raw --prompt 'Call me' --max-new 8000 >"$work/out" 2>"$work/err" &
process=$!
tries=0
while [ ! -s "$work/out" ] && [ "$tries" -lt 200 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -INT "$process"
wait "$process"
code=$?
checks=$((checks + 1))
[ "$code" -eq 130 ] || fail "exit code $code, expected 130"
err 'ended by interrupted'
checks=$((checks + 1))
[ -s "$work/out" ] || fail "no text before the interrupt"
checks=$((checks + 1))
[ "$(tail -c 1 "$work/out" | wc -l)" -eq 1 ] || fail "the text does not end with a line end"
if command -v iconv >/dev/null; then
    checks=$((checks + 1))
    iconv -f UTF-8 -t UTF-8 "$work/out" >/dev/null 2>&1 || fail "a character was cut"
fi
finish
