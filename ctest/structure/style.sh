#!/usr/bin/env bash
# Named style rules. A waiver is a comment "style: allow RULE" on the line; one that allows nothing
# fails too.
set -u
cd "$1" || exit 1
bad=0
complain() { # complain RULE HITS
  local hits
  hits=$(grep -v "style: allow $1" <<<"$2" | grep -v '^$')
  if [ -n "$hits" ]; then
    echo "rule $1:"
    head -20 <<<"$hits"
    bad=1
  fi
}
files=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.cuh')
complain spdx "$(for f in $files; do head -1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f"; done)"
complain line-length "$(awk 'length($0) > 100 {print FILENAME ":" FNR}' $files)"
complain file-length "$(wc -l $files | awk '$2 != "total" && $1 > 800 {print $2 ": " $1 " lines"}')"
complain tabs "$(grep -nP '\t' $files)"
complain trailing-space "$(grep -nE ' +$' $files)"
complain todo "$(grep -nE '(TODO|FIXME|XXX)([^X]|$)' $files | grep -v XXXXXX)"
complain engine-allocation "$(grep -nE '[^_a-z](malloc|calloc|realloc|strdup|free)\(' $(git ls-files -co --exclude-standard 'engine/*.c' ':!engine/core/memory.c' ':!engine/tools'))"
complain exit-in-library "$(grep -nE '[^_a-z](exit|abort)\(' $(git ls-files -co --exclude-standard 'engine/*.c' ':!engine/tools'))"
complain machine-paths "$(git grep -nIE '/(home|root|work)/[a-z]' -- . ':!golden/models/training' ':!ctest/structure' ':!golden/corpora')"
command -v clang-format >/dev/null && complain clang-format \
  "$(clang-format --dry-run $files 2>&1 | grep -E 'warning|error' | head -20)"
exit $bad
