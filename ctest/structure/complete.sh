#!/usr/bin/env bash
# Every op has its five folders, each with its files. The ops are the folders of engine/ops: no
# other list exists.
set -u
cd "$1" || exit 1
bad=0
need() {
  if [ ! -e "$1" ]; then
    echo "op $op: $1 is missing"
    bad=1
  fi
}
count=0
for folder in engine/ops/*/; do
  op=$(basename "$folder")
  count=$((count + 1))
  for file in engine/ops/$op/{CMakeLists.txt,$op.h,${op}_routes.c,${op}_cpu.c} \
    oracle/ops/$op/{CMakeLists.txt,${op}_ref.c,${op}_mpfr.c,${op}_bound.c,${op}_bound.md} \
    properties/ops/$op/{CMakeLists.txt,${op}_case.c,${op}_laws.c,${op}_mutants.c} \
    golden/ops/$op/{CMakeLists.txt,special.vec} \
    fuzz/ops/$op/{CMakeLists.txt,${op}_fuzz.c,seeds}; do
    need "$file"
  done
done
for tree in oracle properties golden fuzz; do
  for folder in $tree/ops/*/; do
    op=$(basename "$folder")
    [ -d "engine/ops/$op" ] || { echo "$folder: engine/ops has no such op"; bad=1; }
  done
done
[ "$count" -gt 0 ] || { echo "no ops found"; bad=1; }
echo "$count ops"
exit $bad
