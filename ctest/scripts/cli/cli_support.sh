# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# Sourced by the command-line checks, which use its variables: run a command, look at exit code and both outputs.
# Usage of a check: cli_<what>.sh PROGRAM MODEL

set -u
assay=$1
model=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
checks=0

# expect CODE COMMAND...: runs it with outputs in $work/out and $work/err.
expect() {
    expected=$1
    shift
    command="$*"
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    checks=$((checks + 1))
    if [ "$code" -ne "$expected" ]; then
        fail "exit code $code, expected $expected"
    fi
}

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  %s\n' "$command" "$1"
    sed 's/^/  stdout: /' "$work/out" | head -n 5
    sed 's/^/  stderr: /' "$work/err" | head -n 5
}

# out TEXT, err TEXT: the output of the last command contains the text.
out() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/out" || fail "standard output lacks \"$1\""
}
err() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/err" || fail "standard error lacks \"$1\""
}
# Nothing on the stream: out or err.
silent() {
    checks=$((checks + 1))
    [ ! -s "$work/$1" ] || fail "unexpected text on $1"
}

# Ends the script: a script that checked nothing fails.
finish() {
    if [ "$checks" -eq 0 ]; then
        echo "no checks ran"
        exit 1
    fi
    echo "$checks checks, $failures failures"
    [ "$failures" -eq 0 ]
    exit $?
}
