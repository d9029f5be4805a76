#!/usr/bin/env bash
# Every clause of a contract, [TAG-n], is cited by a test of its op; every citation names a clause.
set -u
cd "$1" || exit 1
bad=0
count=0
for header in engine/ops/*/; do
  op=$(basename "$header")
  tests=$(cat properties/ops/"$op"/*.c golden/ops/"$op"/*.vec 2>/dev/null)
  clauses=$(grep -oE '^ \* \[[A-Z0-9]+-[0-9]+\]' "engine/ops/$op/$op.h" | tr -d ' *')
  [ -n "$clauses" ] || { echo "$op: the contract has no clause"; bad=1; }
  for clause in $clauses; do
    count=$((count + 1))
    grep -qF "$clause" <<<"$tests" || { echo "$op: $clause is cited by no test"; bad=1; }
  done
  for cited in $(grep -ohE '\[[A-Z0-9]+-[0-9]+\]' <<<"$tests" | sort -u); do
    grep -qF "$cited" engine/ops/*/*.h || { echo "$op: its tests cite $cited, which no contract has"; bad=1; }
  done
done
echo "$count clauses"
exit $bad
