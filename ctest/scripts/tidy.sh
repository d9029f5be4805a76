#!/usr/bin/env bash
# clang-tidy over all C sources of a build (default dev): tidy.sh [PRESET]. Slow: minutes on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/${1:-dev}
[ -e "$build/compile_commands.json" ] || ctest/scripts/build.sh "${1:-dev}"
# One file a process: clang-tidy 14 reports va_list falsely when it reads several.
# A source that is built once for each instruction set is checked once.
grep -oE '"file": "[^"]+\.c"' "$build/compile_commands.json" | cut -d'"' -f4 | sort -u |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build" 2>/dev/null
echo "clang-tidy: clean"
