#!/usr/bin/env bash
# The second command of the README: installs what is missing, builds, and passes all tests.
# Arguments go to ctest: test.sh -R '^rope\.'
set -euo pipefail
cd "$(dirname "$0")/../.."
ctest/scripts/setup.sh
# Kernels for one architecture: no device runs here.
export CUDAARCHS=${CUDAARCHS:-90a}
ctest/scripts/build.sh dev
ctest --test-dir build/dev --output-on-failure --no-tests=error --parallel "$(nproc)" \
  --output-junit reports/ctest.xml "$@"
