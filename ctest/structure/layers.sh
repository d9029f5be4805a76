#!/usr/bin/env bash
# Who may include whom (docs/architecture.md). The build's include paths enforce most of it; this
# reads the sources, so that a path trick does not pass.
set -u
cd "$1" || exit 1
bad=0
forbid() { # forbid WHERE PATTERN WHY
  local hits
  hits=$(git grep -nE --untracked "^#include [<\"]($2)" -- $1)
  if [ -n "$hits" ]; then
    echo "$3:"
    echo "$hits"
    bad=1
  fi
}
# (model/oracle_*.h is the oracle's own.)
engine_private='core/|numeric/|formats/|ops/|artifact/|text/|model/[^o]|runtime/|precision/|tools/'
# The oracle includes <assay/...> of the public headers only, never a private engine header.
forbid 'oracle/*.c oracle/*.h' "$engine_private|\.\./" "oracle includes engine code"
forbid 'properties/*.c properties/*.h golden/*.c golden/*.h fuzz/*.c fuzz/*.h' "$engine_private|\.\./" \
  "a suite includes private engine headers"
# Below tools, the engine knows neither oracle nor suite.
suite='oracle\.h|verdict\.h|words\.h|bounds\.h|real\.h|case\.h|verify\.h|trial\.h|values\.h|oracle_model\.h|oracle_formats\.h'
forbid 'engine/core engine/numeric engine/formats engine/ops engine/artifact engine/text engine/model engine/runtime engine/precision' \
  "$suite" "the engine includes the suite"
# Within the engine, lower layers do not know higher ones.
forbid 'engine/core engine/numeric engine/formats' 'ops/|model/|runtime/|precision/|tools/|text/|artifact/' "core includes a higher layer"
forbid 'engine/ops' 'model/|runtime/|precision/|tools/|text/|artifact/|assay/(model|session|precision|tokenizer)' "an op knows models"
forbid 'engine/model' 'runtime/|tools/|assay/session' "model includes a higher layer"
forbid 'engine/artifact engine/text' 'ops/|runtime/|tools/|assay/ops' "model input includes ops"
# The oracle does not call engine functions: its objects need no symbol of the library.
if [ -n "${2:-}" ] && [ -e "$2/oracle/libassay_oracle.a" ]; then
  defined=$(nm -g --defined-only "$2"/engine/libassay.a 2>/dev/null | awk 'NF==3 {print $3}' | sort -u)
  needed=$(nm -g --undefined-only "$2"/oracle/libassay_oracle.a 2>/dev/null | awk '{print $NF}' | sort -u)
  # tensor.c's view arithmetic is part of the public headers' meaning.
  calls=$(comm -12 <(echo "$defined") <(echo "$needed") | grep -vE '^assay_(tensor|dtype)_')
  if [ -n "$calls" ]; then
    echo "the oracle calls the engine: $calls"
    bad=1
  fi
fi
exit $bad
