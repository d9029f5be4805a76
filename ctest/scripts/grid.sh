#!/bin/sh
# The products at T = 1..32 one by one, 33, 64, 127..129 and 4096, K = 64, 65, 128, 192, 5120 and 17408, in all
# formats and input kinds, on every route of a backend: grid.sh PROGRAM BACKEND DIR [OP...]
# Every pair of T and K is met; formats, element types and distributions take turns, two of them a pair. GRID=full
# takes every format at every pair, the size for a release.
set -eu
program=$1 backend=$2 dir=$3
shift 3
[ $# -gt 0 ] || set -- linear linear_grouped linear_add linear_swiglu linear_topk
mkdir -p "$dir"
status=0
for op in "$@"; do
    deck=$dir/grid_$op.$backend.deck
    awk -v op="$op" -v full="${GRID:-}" -v backend="$backend" '
        function emit(T, N, K, format, turn,    x, y, w) {
            x = turn % 2 ? "bf16" : "f32"
            y = int(turn / 2) % 2 ? "bf16" : "f32"
            w = formats[format]
            if (op == "linear") {
                printf "linear T=%d N=%d K=%d x=%s y=%s", T, N, K, x, y
            } else if (op == "linear_swiglu") {
                printf "%s T=%d N=%d K=%d gate=%s up=same x=%s y=%s", op, T, N, K, w, x, y
            } else if (op == "linear_topk") {
                printf "%s T=%d limit=%d extra=3 K=%d k=5 w=%s x=%s", op, T, N, K, w, x
            } else if (op == "linear_grouped") {
                printf "%s T=%d N=%d K=%d w=%s x=%s y=%s residual=%d", op, T, N, K, w, x, y, turn % 3 == 0
            } else {
                printf "%s T=%d N=%d K=%d w=%s x=%s y=%s", op, T, N, K, w, x, y
            }
            printf " dist=%s seed=%d\n", dists[turn % num_dists + 1], 1000 + turn
        }
        # Two formats of the pair, or all.
        function pair(T, N, K,    i) {
            for (i = 0; i < num_formats; i++)
                if (full == "full" || i == at % num_formats || i == (at + 2) % num_formats)
                    emit(T, N, K, i + 1, turn++)
            at++
        }
        BEGIN {
            num_formats = split(op == "linear" ? "bf16" : op == "linear_grouped" ? \
                "q4g64 q5g64 q6g64 q8g32" : "bf16 q4g64 q5g64 q6g64 q8g32", formats, " ")
            num_dists = split("normal uniform outliers massive constant alternating subnormal zeros " \
                "large cancel ties exact nonfinite", dists, " ")
            for (T = 1; T <= 129; T = T == 33 ? 64 : T == 64 ? 127 : T + 1) {
                pair(T, 24, 64); pair(T, 24, 65); pair(T, 24, 128); pair(T, 24, 192)
            }
            if (backend == "simt")
                exit
            for (T = 1; T <= 129; T = T == 33 ? 64 : T == 64 ? 127 : T + 1) {
                emit(T, 8, T % 2 ? 5120 : 17408, T % num_formats + 1, turn++)
            }
            pair(4096, 8, 64); pair(4096, 8, 65); pair(4096, 8, 192)
            if (full == "full") { pair(4096, 8, 5120); pair(4096, 4, 17408) }
        }' >"$deck"
    [ -s "$deck" ] || { echo "grid.sh: no cases of $op"; exit 2; }
    "$program" verify --backend "$backend" --deck "$deck" || status=1
done
exit $status
