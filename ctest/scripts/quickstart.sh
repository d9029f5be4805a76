#!/usr/bin/env bash
# The first command of the README: installs what is missing, builds, and runs the main job: it gates
# the trade gdn-state-fp16 on a really trained model and prints why it passed.
set -euo pipefail
cd "$(dirname "$0")/../.."
ctest/scripts/setup.sh
ctest/scripts/build.sh dev assay_program
echo
build/dev/assay gate golden/models/tiny-hybrid --trade gdn-state-fp16 \
  --ledger build/dev/ledger.sqlite --html build/dev/gate.html --json build/dev/gate.json
echo
echo "report:  build/dev/gate.html"
echo "use it:  build/dev/assay run golden/models/tiny-hybrid --gdn-state-fp16 \\"
echo "           --ledger build/dev/ledger.sqlite --prompt 'What is 12 times 10?'"
