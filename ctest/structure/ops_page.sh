#!/usr/bin/env bash
# docs/ops.md is what the route tables say.
set -eu
for part in ASSAY_SIMD ASSAY_HAVE_SIMT ASSAY_HAVE_CUDA; do
  grep -q $part "$2/build.ninja" && continue
  echo "a build without AVX, executor or cuda routes has fewer: skipped"
  exit 77
done
"$2/assay" ops --markdown >"$2/ops.md"
if ! diff -u "$1/docs/ops.md" "$2/ops.md"; then
  echo "docs/ops.md is not current; write it with: build/dev/assay ops --markdown > docs/ops.md"
  exit 1
fi
