#!/usr/bin/env bash
# Configures and builds one preset (default dev), all of it or some targets: build.sh [PRESET [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=${1:-dev}
shift || true
cmake --preset "$preset" >/dev/null || cmake --preset "$preset"
cmake --build "build/$preset" --parallel ${1:+--target "$@"}
