#!/usr/bin/env bash
# docs/reference/errors.md is what the status table says.
set -eu
"$2/ctest/structure/error_table" >"$2/errors.md"
if ! diff -u "$1/docs/reference/errors.md" "$2/errors.md"; then
  echo "docs/reference/errors.md is not current; write it with: build/dev/ctest/structure/error_table > docs/reference/errors.md"
  exit 1
fi
