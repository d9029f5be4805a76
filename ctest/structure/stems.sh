#!/usr/bin/env bash
# File stems are unique in the whole tree: a back-trace, a grep and ccache need no path. A source and
# its own header share a stem; so do an op's contract and nothing else.
set -u
cd "$1" || exit 1
duplicates=$(git ls-files -co --exclude-standard '*.c' '*.cu' '*.h' '*.cuh' 2>/dev/null |
  sed 's|.*/||' | sort | uniq -d)
if [ -n "$duplicates" ]; then
  echo "file names that stand more than once:"
  echo "$duplicates"
  exit 1
fi
# Two sources of one stem in different folders (foo.c and foo.h must be neighbours).
bad=$(git ls-files -co --exclude-standard '*.c' '*.h' | sed -E 's|^(.*)/([^/]+)\.[ch]$|\2 \1|' |
  sort -u | awk '{n[$1]++; where[$1]=where[$1] " " $2} END {for (s in n) if (n[s] > 1) print s ":" where[s]}')
# A public header of engine/include/assay and its implementation live apart by design.
bad=$(echo "$bad" | grep -v 'engine/include/assay' | grep -v '^$')
if [ -n "$bad" ]; then
  echo "stems in more than one folder:"
  echo "$bad"
  exit 1
fi
