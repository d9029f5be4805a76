#!/usr/bin/env bash
# docs/ops.md is what the route tables say.
set -eu
if ! grep -q 'define ASSAY_SIMD\|ASSAY_SIMD' "$2/build.ninja"; then
  echo "a portable build has fewer routes: skipped"
  exit 77
fi
"$2/assay" ops --markdown >"$2/ops.md"
if ! diff -u "$1/docs/ops.md" "$2/ops.md"; then
  echo "docs/ops.md is not current; write it with: build/dev/assay ops --markdown > docs/ops.md"
  exit 1
fi
