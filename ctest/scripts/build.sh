#!/usr/bin/env bash
# Configures and builds one preset (default dev): build.sh [PRESET]
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=${1:-dev}
cmake --preset "$preset" >/dev/null || cmake --preset "$preset"
cmake --build "build/$preset" --parallel
