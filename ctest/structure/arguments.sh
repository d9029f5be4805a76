#!/usr/bin/env bash
# Every member of every op's args struct is in a table of its route file: ASSAY_ARGUMENT for tensors,
# ASSAY_SCALAR for the others, so that plugins get them. argument_members checks offsets and sizes,
# this the names, since a member may hide in what looks like padding.
set -u
cd "$1" || exit 1
bad=0
"$2/ctest/structure/argument_members" || bad=1
for folder in engine/ops/*/; do
  op=$(basename "$folder")
  members=$(sed -n "/^struct assay_${op}_args {/,/^};/p" "$folder/$op.h" |
    sed -nE 's/^    [a-z0-9_ ]+ \*?([a-z0-9_]+)(\[[0-9]+\])?;.*/\1/p')
  [ -n "$members" ] || { echo "$op: its args have no members that could be read"; bad=1; }
  # Tables may run over lines: all of it as one.
  tables=$(tr '\n' ' ' <"$folder/${op}_routes.c" |
    grep -oE '(ASSAY_ARGUMENT|ASSAY_ARGUMENT_REACH|ASSAY_SCALAR|GROUPED_ARGUMENTS|GROUPED_SCALARS|WEIGHTS?_[A-Z]+)\([^)]*\)')
  for member in $members; do
    grep -qE ", *$member(\[[0-9a-z]+\])?(\.[a-z]+)? *[,)]" <<<"$tables" ||
      { echo "$op: '$member' is in no table of ${op}_routes.c"; bad=1; }
  done
done
exit $bad
