#!/bin/sh
# Makes golden/device/fragments.vec anew.
#
#   fragments.sh build DIR      with nvcc (no device needed): the program DIR/fragments
#   fragments.sh run DIR FILE   on a machine with a device: DIR/fragments writes FILE
#
# ASSAY_NVCC_ARCH (90a) names what to build for.
set -eu

arch=${ASSAY_NVCC_ARCH:-90a}

usage() {
    echo "usage: fragments.sh build DIR | fragments.sh run DIR FILE" >&2
    exit 2
}

build() {
    root=$(cd "$(dirname "$0")/../../.." && pwd)
    mkdir -p "$1/include/assay/ops"
    kernels=
    for op in add l2norm rmsnorm silu_mul; do
        ln -sf "$root/engine/ops/$op/$op.h" "$1/include/assay/ops/$op.h"
        kernels="$kernels $root/engine/ops/$op/${op}_cuda.cu"
    done
    for source in cuda/executor/selftest/row_launches core/status core/tensor; do
        "${CC:-cc}" -std=c17 -O2 -D_GNU_SOURCE -DASSAY_LAUNCH_CUDA -I "$root/engine" -I "$root/engine/include" \
            -I "$1/include" -c -o "$1/$(basename $source).o" "$root/engine/$source.c"
    done
    # shellcheck disable=SC2086 # a list of files
    "${NVCC:-nvcc}" -std=c++17 -O2 -fmad=false -DASSAY_LAUNCH_CUDA -gencode "arch=compute_$arch,code=sm_$arch" \
        -I "$root/engine" -I "$root/engine/include" -I "$1/include" -o "$1/fragments" \
        "$root/ctest/scripts/device/fragments_device.cu" \
        "$root/engine/cuda/executor/selftest/fragment_kernels.cu" \
        "$1/row_launches.o" $kernels "$1/status.o" "$1/tensor.o"
}

run() {
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
    "$1/fragments" "driver: $driver" "date: $(date -u +%Y-%m-%d)" \
        "command: fragments.sh build DIR; fragments.sh run DIR FILE, built for sm_$arch" >"$2"
}

case ${1:-} in
build) [ $# -eq 2 ] || usage; build "$2" ;;
run) [ $# -eq 3 ] || usage; run "$2" "$3" ;;
*) usage ;;
esac
