#!/usr/bin/env bash
# No flag that changes IEEE 754 arithmetic, anywhere in the build.
set -u
hits=$(grep -nE -- '-ffast-math|-Ofast|-funsafe-math|-fassociative-math|-freciprocal-math|-ffinite-math|--use_fast_math|-ffp-contract=fast' \
  "$2/build.ninja")
if [ -n "$hits" ]; then
  echo "$hits" | head
  exit 1
fi
# And contraction is off for every compiled source.
awk '/^build .*COMPILER/ {compile = 1} /^$/ {compile = 0}
     compile && /^  FLAGS = / {n++; if ($0 ~ /-ffp-contract=off/) off++}
     END {if (n == 0 || n != off) {print off + 0 " of " n + 0 " compile lines have -ffp-contract=off"; exit 1}}' \
  "$2/build.ninja"
