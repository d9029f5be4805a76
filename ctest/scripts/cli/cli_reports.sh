#!/bin/sh
# SPDX-License-Identifier: MIT
# assay verify --json and --junit: well-formed, complete or absent, written in place on devices.
# Third argument: the program json_field.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"
json=$3
reports=$work/reports
mkdir "$reports"

# field VALUE KEY...: the JSON report has this value at this place.
field() {
    value=$1
    shift
    checks=$((checks + 1))
    got=$("$json" "$reports/report.json" "$@" 2>&1)
    [ "$got" = "$value" ] || fail "field $* is $got, expected $value"
}

expect 0 "$assay" verify add.plain.cpu --seed 3 --json "$reports/report.json" \
    --junit "$reports/report.xml"
silent err
field 3 seed
field 0 bad
field '"add"' routes 0 op
field '"add.plain.cpu"' routes 0 route
field 0 routes 0 failed
field '[]' routes 0 failures
cases=$(sed -n 's/^\([0-9]*\) cases, 0 bad.*/\1/p' "$work/out")
field "$cases" cases
field "$cases" routes 0 cases
checks=$((checks + 2))
[ "$(ls "$reports")" = "report.json
report.xml" ] || fail "other files: $(ls "$reports")"
grep -q '<testcase classname="add" name="add.plain.cpu"' "$reports/report.xml" ||
    fail "the JUnit report lacks the route"
if command -v xmllint >/dev/null; then
    checks=$((checks + 1))
    xmllint --noout "$reports/report.xml" 2>"$work/err" || fail "malformed XML"
fi

# An old report is replaced as a whole, or stays as it was.
echo old >"$reports/report.json"
expect 0 "$assay" verify add.plain.cpu --json "$reports/report.json"
field 1 seed
cp "$reports/report.json" "$work/before"
cp "$reports/report.xml" "$work/before.xml"

# unwritable MESSAGE OPTION PATH: exit code 3, one line that names the path, nothing left behind.
unwritable() {
    message=$1
    shift
    expect 3 "$assay" verify add.plain.cpu "$@"
    err "$message"
    err "$2"
    checks=$((checks + 2))
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "not exactly one line"
    [ "$(ls "$reports" | wc -l)" -eq 2 ] || fail "files left: $(ls "$reports")"
}
for option in --json --junit; do
    unwritable 'cannot be created: No such file' $option "$reports/none/report"
    unwritable 'cannot be opened: Is a directory' $option "$reports"
    if [ -c /dev/full ]; then
        unwritable 'cannot be written: No space left' $option /dev/full
        checks=$((checks + 1))
        [ -c /dev/full ] || fail "the device was replaced by a file"
    fi
done
# A limit on the size of files stands for a disk that fills up half-way.
for option in --json --junit; do
    command="verify $option with a full disk"
    (
        trap '' XFSZ
        ulimit -f 0
        "$assay" verify add.plain.cpu $option "$reports/report.$option" 2>&1
    ) | cat >"$work/out"
    checks=$((checks + 2))
    grep -q 'cannot be written: File too large' "$work/out" || fail "not reported"
    [ "$(ls "$reports" | wc -l)" -eq 2 ] || fail "files left: $(ls "$reports")"
done
checks=$((checks + 1))
cmp -s "$reports/report.json" "$work/before" && cmp -s "$reports/report.xml" "$work/before.xml" ||
    fail "an old report was touched"

# A pipe is written in place.
command='verify --json /dev/stderr'
"$assay" verify add.plain.cpu --json /dev/stderr 2>&1 >/dev/null | cat >"$reports/report.json"
field '"add.plain.cpu"' routes 0 route
finish
