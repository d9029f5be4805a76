#!/bin/sh
# SPDX-License-Identifier: MIT
# assay verify: wrong and contradictory arguments, descriptors, vectors; a case repeats exactly.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh
. "$(dirname "$0")/cli_support.sh"

# One message, exit code 3, nothing on standard output.
wrong() {
    message=$1
    shift
    expect 3 "$assay" verify "$@"
    err "$message"
    silent out
    checks=$((checks + 1))
    [ "$(grep -c "^assay" "$work/err")" -eq 1 ] || fail "not exactly one message"
}
wrong 'nonsense: no op or route' nonsense
wrong 'nonsense: no op or route' add nonsense
wrong '*.nonsense.cpu: no op or route' '*.nonsense.cpu'
wrong 'a descriptor must be the only argument' add 'rmsnorm H=3'
wrong 'unrecognized option' --nonsense
wrong '--seed must be a whole number' --seed -1
wrong '--seed must be a whole number' --seed 1x
wrong '--jobs must be a whole number' --jobs 0
wrong '--precision must be a whole number' --precision 63
wrong 'no op of this name: nonsense' 'nonsense H=3'
wrong 'K: no such parameter' 'rmsnorm K=3'
wrong 'H: given twice' 'rmsnorm H=3 H=3'
wrong 'H: out of range: 0 is not in' 'rmsnorm H=0'
wrong 'H: not a number: x' 'rmsnorm H=x'
wrong 'x: no such format' 'rmsnorm x=f64'
wrong 'dist: no such distribution' 'rmsnorm dist=cauchy'
wrong '--vectors goes with no other' --vectors --oracle file
wrong '--vectors goes with no other' --vectors --list file
wrong '--vectors goes with no other' --vectors --json "$work/x" file
wrong '--vectors needs at least one file' --vectors
wrong '--oracle goes with no other' --oracle --list add
wrong '--noise goes with no other' --noise --oracle add
wrong '--noise goes with no other' --noise 'add T=3 I=5'
wrong '--oracle goes with no other' --oracle --junit "$work/x" add
wrong '--list runs nothing' --list --json "$work/x" add
wrong 'a descriptor goes with no other' 'add T=1' --json "$work/x"
wrong 'a descriptor goes with no other' 'add T=1' --list
wrong 'none.vec: No such file' --vectors "$work/none.vec"
wrong 'no step is written so' 'sequence steps=reset.0.0.0'
wrong 'goes with no other mode' --oracle 'sequence seed=1 length=3'
wrong 'a descriptor must be the only argument' add 'sequence seed=1 length=3'
checks=$((checks + 1))
[ ! -e "$work/x" ] || fail "a refused command wrote a file"

# A route that is not there, and one that refuses.
expect 1 "$assay" verify 'add route=add.nonsense.cpu'
out "there is no route 'add.nonsense.cpu'"

# A descriptor shows the measurement; --oracle compares the oracles.
expect 0 "$assay" verify 'add T=3 I=5 route=add.plain.cpu'
out 'add.plain.cpu: pass'
out 'output rounding'
out '15 elements; oracle: FP64'
silent err
expect 0 "$assay" verify --oracle 'add T=3 I=5'
out 'pass: FP64 and MPFR agree'
# Random rounding stays beside the bound, whatever it uses of it.
expect 0 "$assay" verify --noise add silu_mul
out 'silu_mul '
out 'draws of each'
expect 0 "$assay" verify 'linear T=2 K=64 N=5'
out 'random rounding in binary32, 32 draws'
expect 0 "$assay" verify --oracle add
out '0 bad'

# A program over sessions.
expect 0 "$assay" verify 'sequence seed=3 length=12'
out 'pass: 12 steps'
expect 0 "$assay" verify 'sequence mode=chunked trades=gdn-state-fp16 steps=prefill.0.9.0.2,round.0.4.1.2'
out 'pass: 2 steps'

# The list is the same every time; another seed lists others.
expect 0 "$assay" verify --list
mv "$work/out" "$work/list"
expect 0 "$assay" verify --list
checks=$((checks + 2))
cmp -s "$work/list" "$work/out" || fail "two lists of one seed differ"
expect 0 "$assay" verify --list --seed 2
! cmp -s "$work/list" "$work/out" || fail "two seeds give one list"

# Ten of its lines, spread over all ops: each passes, and gives the same numbers again.
lines=$(wc -l <"$work/list")
number=1
while [ "$number" -le 10 ]; do
    descriptor=$(sed -n "$((number * lines / 10))p" "$work/list")
    expect 0 "$assay" verify "$descriptor"
    out ': pass'
    mv "$work/out" "$work/first"
    expect 0 "$assay" verify "$descriptor"
    checks=$((checks + 1))
    cmp -s "$work/first" "$work/out" || fail "the second run gives other numbers"
    number=$((number + 1))
done

# Vectors: good, wrong, malformed, empty.
cat >"$work/good.vec" <<'VEC'
# 1 + 2, by hand
vector add T=1 I=2 a=f32 b=f32 y=f32
in a 1 -3
in b 2 3
out y 3 0
end
VEC
expect 0 "$assay" verify --vectors "$work/good.vec"
out '1 vectors'
out '0 bad'
sed 's/out y 3/out y 4/' "$work/good.vec" >"$work/bad.vec"
expect 1 "$assay" verify --vectors "$work/bad.vec"
out "FAILED $work/bad.vec:2: add."
out 'y[0]'
sed '/^in b/d' "$work/good.vec" >"$work/bad.vec"
expect 3 "$assay" verify --vectors "$work/good.vec" "$work/bad.vec"
err 'line 5: b: input not given'
sed '/^end/d' "$work/good.vec" >"$work/bad.vec"
expect 3 "$assay" verify --vectors "$work/bad.vec"
err 'line 5: end: missing'
: >"$work/empty.vec"
expect 3 "$assay" verify --vectors "$work/empty.vec"

# A full standard output is noticed in every mode.
for arguments in '--list' 'add.plain.cpu' '--oracle add' '--noise add' "--vectors $work/good.vec"; do
    command="verify $arguments >/dev/full"
    [ -c /dev/full ] || continue
    # shellcheck disable=SC2086
    "$assay" verify $arguments >/dev/full 2>"$work/err"
    code=$?
    checks=$((checks + 1))
    [ "$code" -eq 3 ] || fail "exit code $code, expected 3"
    err 'writing to standard output failed'
done
finish
