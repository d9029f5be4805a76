#!/bin/sh
# Compiles every kernel for a device and looks at the instructions that came out: a kernel that lost
# its tensor core, its asynchronous copies or its 16-byte loads would still be right, and slow.
#
#   sass.sh
#
# Needs nvcc and cuobjdump on the PATH (or NVCC, CUOBJDUMP), and no device. Architectures: sm_80,
# sm_90a. Exit status 77: a tool is missing.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
nvcc=${NVCC:-nvcc}
cuobjdump=${CUOBJDUMP:-cuobjdump}
for tool in "$nvcc" "$cuobjdump"; do
    command -v "$tool" >/dev/null 2>&1 || { echo "sass.sh: $tool is not there" >&2; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/assay/ops"
for contract in "$root"/engine/ops/*/*.h; do
    name=$(basename "$contract")
    [ "$(basename "$(dirname "$contract")")" = "${name%.h}" ] || continue
    ln -s "$contract" "$work/include/assay/ops/$name"
done
bad=0

# assemble ARCH FILE: instructions of FILE, a path below engine/, to $work/sass.
assemble() {
    "$nvcc" -std=c++17 -O3 -fmad=false -Werror all-warnings -cubin \
        -gencode "arch=compute_$1,code=sm_$1" -I "$root/engine" -I "$root/engine/include" \
        -I "$work/include" -o "$work/cubin" "$root/engine/$2"
    "$cuobjdump" --dump-sass "$work/cubin" >"$work/sass"
}

# want ARCH FILE PATTERN...: each extended regular expression occurs.
want() {
    arch=$1 file=$2
    shift 2
    assemble "$arch" "$file"
    for pattern in "$@"; do
        grep -Eq "$pattern" "$work/sass" && continue
        echo "FAILED sm_$arch $file: no $pattern"
        bad=$((bad + 1))
    done
    # An array that did not stay in registers; an address whose memory the compiler does not know,
    # unless the file says that it has some: "sass: generic accesses".
    for pattern in '\b(LDL|STL)\b' '\b(LD|ST)\.E'; do
        grep -Eq "$pattern" "$work/sass" || continue
        [ "$pattern" = '\b(LD|ST)\.E' ] && grep -q 'sass: generic accesses' "$root/engine/$file" &&
            continue
        echo "FAILED sm_$arch $file: has $pattern"
        bad=$((bad + 1))
    done
}

for arch in 80 90a; do
    want $arch cuda/executor/selftest/fragment_kernels.cu \
        'HMMA\.16816\.F32\.BF16' 'HMMA\.16816\.F32 ' 'IMMA\.16832\.S8\.S8' 'IDP\.4A\.S8\.S8' \
        'LDGSTS\.E\.BYPASS\.128' 'LDSM\.16\.M88 ' 'LDSM\.16\.M88\.2' 'LDSM\.16\.M88\.4' \
        'LDSM\.16\.MT88 ' 'LDSM\.16\.MT88\.2' 'LDSM\.16\.MT88\.4' \
        'SHFL\.IDX' 'SHFL\.BFLY' 'SHFL\.UP' 'SHFL\.DOWN' 'VOTE' 'F2FP.*BF16.*PACK_AB'
    want $arch cuda/executor/selftest/mma_kernels.cu \
        'HMMA\.16816\.F32\.BF16' 'IMMA\.16832' 'LDGSTS\.E\.BYPASS\.128' 'LDSM\.16\.M88\.4' 'LDGDEPBAR'
    for file in "$root"/engine/ops/*/*_cuda.cu; do
        # A kernel that stores or loads words says so: "sass: word stores", "sass: word loads".
        stores='STG\.E\.128' loads='LDG\.E\.128|LDGSTS\.E\.BYPASS\.128'
        grep -q 'sass: word stores' "$file" && stores='STG\.E'
        grep -q 'sass: word loads' "$file" && loads='LDG\.E'
        want $arch "${file#"$root"/engine/}" "$loads" "$stores"
    done
done
[ $bad -eq 0 ] && echo "all instructions are there: sm_80, sm_90a"
exit $((bad > 0))
