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
    mkdir -p "$1"
    "${NVCC:-nvcc}" -std=c++17 -O2 -fmad=false -gencode "arch=compute_$arch,code=sm_$arch" \
        -I "$root/engine" -I "$root/engine/include" -o "$1/fragments" \
        "$root/ctest/scripts/device/fragments_device.cu" \
        "$root/engine/cuda/executor/selftest/fragment_kernels.cu" "$root/engine/core/status.c"
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
