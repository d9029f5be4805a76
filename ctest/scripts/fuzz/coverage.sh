#!/usr/bin/env bash
# How many lines of the parsers the fuzz targets' stored inputs reach: coverage.sh SOURCE BUILD GCOV,
# in a build of preset coverage. One row a parser; below 90 % it fails. What no input reaches stands
# in BUILD/fuzz-coverage/lines/*.gcov, as lines with #####.
set -euo pipefail
source=$1 build=$2 gcov=$3 least=90
work=$build/fuzz-coverage
rm -rf "$work"
mkdir -p "$work/lines"

# Counters go to a folder of this run's own: other tests add nothing to them.
run() { # run TARGET FOLDER
  GCOV_PREFIX=$work/counts timeout 120 "$build/fuzz/$2/fuzz_$1" "$source/fuzz/$2/seeds" >"$work/$1.log" 2>&1 || {
    tail -n 20 "$work/$1.log"
    echo "$1: the stored inputs fail"
    exit 1
  }
}
for target in artifact/{safetensors,gguf,assay_artifact,model_config,recipe} text/{tokenizer_json,bpe,chat} \
  cases/{descriptor,deck} gate/{policy,ledger,certificate}; do
  run "$(basename $target)" $target
done

failed=0
row() { # row PARSER FILE...
  local name=$1 file lines covered all=0 reached=0 object
  shift
  for file in "$@"; do
    # Stems are unique in the tree.
    object=$(find "$build" -path "$work" -prune -o -name "$(basename "$file").gcno" -print | head -n 1)
    [ -n "$object" ] || { echo "$file is not built with gcov"; exit 1; }
    mkdir -p "$work/counts$(dirname "$object")"
    cp "$object" "$work/counts$object"
    lines=$(cd "$work/lines" && "$gcov" -o "$work/counts$object" "$source/$file" 2>/dev/null |
      awk -v file="$source/$file" '/^File /   { ours = index($0, file) }
        ours && /^Lines executed/ { sub("Lines executed:", ""); sub("%", ""); print $1, $3; exit }')
    covered=${lines% *} lines=${lines#* }
    [ -n "$lines" ] || { echo "gcov knows nothing of $file"; exit 1; }
    all=$((all + lines))
    reached=$(awk -v r="$reached" -v p="$covered" -v n="$lines" 'BEGIN { printf "%.0f", r + p * n / 100 }')
  done
  awk -v name="$name" -v r="$reached" -v n="$all" -v least=$least 'BEGIN {
    share = n > 0 ? 100 * r / n : 0
    printf "%-15s %5d of %5d lines %6.1f %%%s\n", name, r, n, share, share < least ? "  below " least " %" : ""
    exit share < least }' || failed=1
}
cd "$source"
row safetensors engine/artifact/safetensors/*.c
row gguf engine/artifact/gguf/*.c
row assay_artifact engine/artifact/assay/assay_{reader,layout}.c
row config engine/model/config_*.c
row tokenizer_json engine/text/tokenizer/{tokenizer_{open,model,steps},added_tokens,split_pattern,split_translate}.c \
  engine/text/tokenizer/{token_table,merge_table}.c
row bpe engine/text/tokenizer/{tokenizer_{encode,decode},merge_word,normal_form,byte_alphabet}.c
row chat engine/text/template/*.c
row json engine/core/json_input.c
row descriptor properties/gen/case_{text,deck}.c
row vectors properties/gen/vectors.c
row policy golden/gate/gate_policy{,_set}.c
row ledger engine/precision/ledger_file.c golden/gate/ledger_{read,diff}.c
row certificate engine/precision/certificate.c
row recipe engine/model/recipe.c
exit $failed
