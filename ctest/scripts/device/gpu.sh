#!/bin/sh
# The checks that need a device.
#
#   gpu.sh check PROGRAM [OP...]    verify every cuda route of the OPs (all) with PROGRAM (assay);
#                                   exit status 77: no device here
#   gpu.sh pack BUILD DIR           for a machine without package registries: what a check needs from
#                                   BUILD and the golden data, with the shared libraries beside
#   gpu.sh run DIR OUT              on that machine: all checks, reports to OUT
#
# ASSAY_SEEDS ("1 2 3 4 5") names the seeds of a check, ASSAY_JOBS how many cases run at a time:
# oracles compute on the host's processors while the device runs other cases.
set -eu

usage() {
    echo "usage: gpu.sh check PROGRAM [OP...] | gpu.sh pack BUILD DIR | gpu.sh run DIR OUT" >&2
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
    for program in "$1/assay" "$1"/properties/graphs/replay_laws; do
        [ -x "$program" ] || continue
        cp "$program" "$2/"
        strip "$2/$(basename "$program")"
        libraries "$program" "$2/lib"
    done
    cp "$0" "$2/"
}

run() {
    export LD_LIBRARY_PATH="$1/lib"
    mkdir -p "$2"
    check "$1/assay"
    [ ! -x "$1/replay_laws" ] || "$1/replay_laws"
}

case ${1:-} in
check) [ $# -ge 2 ] || usage; shift; check "$@" ;;
pack) [ $# -eq 3 ] || usage; pack "$2" "$3" ;;
run) [ $# -eq 3 ] || usage; run "$2" "$3" ;;
*) usage ;;
esac
