#!/bin/sh
# The checks that need a device.
#
#   gpu.sh check PROGRAM [OP...]    verify every cuda route of the OPs (all) with PROGRAM (assay);
#                                   exit status 77: no device here
#   gpu.sh pack BUILD DIR           for a machine without package registries: what a check needs from
#                                   BUILD and the golden data, with the shared libraries beside
#   gpu.sh run DIR OUT              on that machine, in the source tree: all checks, reports to OUT
#   gpu.sh bench DIR OUT            on that machine: the benchmarks, OUT/device.json
#   gpu.sh sanitize DIR OUT         compute-sanitizer's memcheck, racecheck, initcheck and synccheck
#
# ASSAY_SEEDS ("1 2 3 4 5") names the seeds of a check, ASSAY_JOBS how many cases run at a time:
# oracles compute on the host's processors while the device runs other cases.
set -eu

usage() {
    sed -n 's/^#   gpu.sh/gpu.sh/p' "$0" >&2
    exit 2
}

check() {
    program=$1
    shift
    "$program" devices || exit 77
    bad=0
    for seed in ${ASSAY_SEEDS:-1 2 3 4 5}; do
        "$program" verify --backend cuda --seed "$seed" ${ASSAY_JOBS:+--jobs "$ASSAY_JOBS"} "$@" ||
            bad=1
    done
    return $bad
}

# libraries PROGRAM DIR: what PROGRAM loads beside the C library and its kin.
libraries() {
    ldd "$1" | while read -r name arrow path rest; do
        case $name in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux* | linux-vdso*) ;;
        *) [ "$arrow" = "=>" ] && cp -L "$path" "$2/$name" ;;
        esac
    done
}

pack() {
    mkdir -p "$2/lib"
    for program in "$1/assay" "$1"/properties/graphs/replay_laws "$1"/properties/ops/*/*_unchecked; do
        [ -x "$program" ] || continue
        cp "$program" "$2/"
        strip "$2/$(basename "$program")"
        libraries "$program" "$2/lib"
    done
    cp "$0" "$2/"
}

# step NAME COMMAND...: runs it, its output to $out/NAME.log and its last lines to the terminal.
step() {
    name=$1
    shift
    status=0
    "$@" >"$out/$name.log" 2>&1 || status=$?
    echo "== $name: exit status $status"
    tail -n "${ASSAY_TAIL:-4}" "$out/$name.log"
    [ $status -eq 0 ] || failed="$failed $name"
}

decks() {
    for deck in properties/ops/*/"$1"_*.deck; do printf -- '--deck %s ' "$deck"; done
}

run() {
    export LD_LIBRARY_PATH="$1/lib"
    out=$2 failed=
    mkdir -p "$out"
    step devices "$1/assay" devices
    for seed in ${ASSAY_SEEDS:-1 2 3 4 5}; do
        step "verify.$seed" "$1/assay" verify --backend cuda --seed "$seed"
    done
    step grid ctest/scripts/grid.sh "$1/assay" cuda "$out/grid"
    step vectors "$1/assay" verify --backend cuda --vectors golden/ops/*/special.vec
    step invariance "$1/assay" verify --backend cuda --invariance
    # shellcheck disable=SC2046 # a list of options
    step real "$1/assay" verify --backend cuda $(decks real)
    if [ -x "$1/replay_laws" ]; then
        step replay "$1/replay_laws" golden/models/tiny-hybrid
        # The mixture of experts: the laws that poison memory, which a recording might rely on.
        step replay.moe "$1/replay_laws" golden/models/tiny-hybrid-moe poisoned
    fi
    for program in "$1"/*_unchecked; do
        [ ! -x "$program" ] || step "$(basename "$program")" "$program" cuda
    done
    [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
}

bench() {
    export LD_LIBRARY_PATH="$1/lib"
    mkdir -p "$2"
    cat properties/ops/*/device_*.deck >"$2/all.deck"
    "$1/assay" bench --backend cuda --deck "$2/all.deck" --model golden/models/tiny-hybrid \
        --json "$2/device.json"
}

sanitize() {
    export LD_LIBRARY_PATH="$1/lib"
    out=$2 failed=
    mkdir -p "$out"
    "$1/assay" verify --list --backend cuda |
        awk 'NR % 10 == 1 && !/layout=far/' >"$out/small.deck"
    # What cuBLAS writes is not seen by initcheck: a kernel that reads it is reported for each word.
    grep -v '^linear_w8row .*cublas' "$out/small.deck" >"$out/initcheck.deck"
    for tool in memcheck racecheck synccheck initcheck; do
        deck=$out/small.deck
        [ $tool != initcheck ] || deck=$out/initcheck.deck
        step "$tool" compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 20 \
            "$1/assay" verify --backend cuda --jobs 1 --deck "$deck"
    done
    [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
}

case ${1:-} in
check) [ $# -ge 2 ] || usage; shift; check "$@" ;;
bench) [ $# -eq 3 ] || usage; bench "$2" "$3" ;;
sanitize) [ $# -eq 3 ] || usage; sanitize "$2" "$3" ;;
pack) [ $# -eq 3 ] || usage; pack "$2" "$3" ;;
run) [ $# -eq 3 ] || usage; run "$2" "$3" ;;
*) usage ;;
esac
