#!/usr/bin/env bash
# docs/ops.md is what the route tables say.
set -eu
if ! grep -q ASSAY_SIMD "$2/build.ninja" || ! grep -q ASSAY_HAVE_SIMT "$2/build.ninja"; then
  echo "a build without AVX routes or without the executor has fewer routes: skipped"
  exit 77
fi
"$2/assay" ops --markdown >"$2/ops.md"
if ! diff -u "$1/docs/ops.md" "$2/ops.md"; then
  echo "docs/ops.md is not current; write it with: build/dev/assay ops --markdown > docs/ops.md"
  exit 1
fi
