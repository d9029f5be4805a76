# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# Sourced by the gate checks: what cli_support.sh offers, and no trace in the user's own ledger.
# Usage of a check: gate_<what>.sh PROGRAM MODEL
# shellcheck source-path=SCRIPTDIR source=../cli/cli_support.sh
. "$(dirname "$0")/../cli/cli_support.sh"
XDG_DATA_HOME=$work/data
export XDG_DATA_HOME
ledger=$XDG_DATA_HOME/assay/ledger.sqlite
trade='--trade gdn-state-fp16'

# holds FILE TEXT, lacks FILE TEXT
holds() {
    checks=$((checks + 1))
    grep -qF -e "$2" "$1" || fail "$1 lacks \"$2\""
}
lacks() {
    checks=$((checks + 1))
    ! grep -qF -e "$2" "$1" || fail "$1 has \"$2\""
}
