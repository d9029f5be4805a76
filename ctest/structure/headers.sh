#!/usr/bin/env bash
# Each public header compiles alone, as C17 and as C++17, with only the public include path.
set -u
compiler=$3
bad=0
count=0
headers=$(cd "$1/engine/include" && ls assay/*.h; cd "$2/include" && ls assay/*.h assay/ops/*.h)
for header in $headers; do
  count=$((count + 1))
  for language in c:c17 c++:c++17; do
    if ! printf '#include <%s>\nextern int assay_header_alone;\n' "$header" | "$compiler" -x "${language%%:*}" -std="${language##*:}" -Wall -Wextra \
      -Wpedantic -Werror -fsyntax-only -I"$1/engine/include" -I"$2/include" -; then
      echo "<$header> does not compile alone as ${language##*:}"
      bad=1
    fi
  done
done
echo "$count headers"
[ "$count" -gt 0 ] || bad=1
exit $bad
