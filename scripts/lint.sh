#!/usr/bin/env bash
# Checks of the sources: scripts/lint.sh cheap|all|format
#   cheap   what ./dev test runs: includes point one way; every kernel has its map, test and page, every source its test;
#           launch bounds, figures and fixed costs hold; shellcheck
#   all     the same, clang-format, and clang-tidy over every source that build/lint names (half an hour)
#   format  rewrites the sources with clang-format
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CLANG_FORMAT_MAJOR=14  # other versions lay the same code out differently

sources() { git ls-files -- '*.cc' '*.h' '*.hpp' '*.cu' '*.cuh' '*.c'; }

# The sources that the preset lint names. Without a CUDA compiler these are not all.
compiled() {
  python3 - <<'LIST'
import json, os
root = os.getcwd() + "/"
for file in sorted({entry["file"].removeprefix(root) for entry in json.load(open("build/lint/compile_commands.json"))}):
    print(file)
LIST
}

clang_format() {
  local tool
  for tool in clang-format-$CLANG_FORMAT_MAJOR .venv/bin/clang-format clang-format; do
    if command -v "$tool" >/dev/null && "$tool" --version | grep -q " version $CLANG_FORMAT_MAJOR\."; then
      echo "$tool"
      return 0
    fi
  done
  return 1
}

check_text() {
  python3 scripts/check_includes.py && python3 scripts/check_kernels.py && python3 scripts/check_tests.py &&
    python3 scripts/fill_figures.py --check &&
    python3 scripts/bench_targets.py bench/results/gpu-test-*.json
}

check_format() {
  local tool
  tool=$(clang_format) || { echo "format: skipped, there is no clang-format $CLANG_FORMAT_MAJOR (./dev lint gets it)"; return 0; }
  sources | xargs "$tool" --dry-run --Werror || { echo "format: run ./dev format" >&2; return 1; }
  echo "format: $(sources | wc -l) files"
}

check_shell() {
  command -v shellcheck >/dev/null || { echo "shellcheck: skipped, it is not installed"; return 0; }
  shellcheck -x dev .ci/run scripts/*.sh
  echo "shellcheck: $(find dev .ci/run scripts/*.sh | wc -l) files"
}

check_tidy() {
  command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed" >&2; return 1; }
  compiled | grep -E '^(src|tools)/.*\.cc$' | nice xargs -P "${JOBS:-$(nproc)}" -n 4 clang-tidy -p build/lint --quiet
}

case ${1:-} in
  cheap) check_text && check_shell ;;
  all) check_text && check_format && check_shell && check_tidy ;;
  has-format) clang_format >/dev/null ;;
  format) sources | xargs "$(clang_format)" -i ;;
  *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
esac
