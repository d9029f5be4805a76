#!/bin/sh
# The stored inputs of one reader once under valgrind: uses of what was never written, which no sanitizer of the
# builds sees, and leaks. valgrind.sh PROGRAM SEEDS
# Errors whose every frame is without a name are left out: code that PCRE2 makes at run time compares words of a
# subject of which it knows that the bytes beyond the end do not count.
set -eu
command -v valgrind >/dev/null || { echo "no valgrind: install the package of that name"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
valgrind -q --error-limit=no --leak-check=full --show-leak-kinds=definite,indirect --log-file="$log" "$@" || status=$?
sed 's/^==[0-9]*== \{0,1\}//' "$log" | awk '
    /^$/ { if (named) { printf "%s\n", block; bad++ } block = ""; named = 0; next }
    { block = block $0 "\n" }
    /^ *(at|by) 0x[0-9A-F]*: [^?]/ { named = 1 }
    END { if (named) { printf "%s\n", block; bad++ } exit bad > 0 }' || status=9
exit $status
