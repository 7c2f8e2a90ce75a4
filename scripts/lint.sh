#!/usr/bin/env bash
# Checks of the sources. `cheap` is part of ./dev test; `all` adds clang-tidy and shellcheck; `format` rewrites.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { git ls-files '*.cc' '*.h' '*.hpp' '*.cu' '*.cuh' '*.c'; }

# The configuration is for this major version: others lay the same code out differently.
clang_format() {
  local tool
  for tool in .venv/bin/clang-format clang-format-14 clang-format; do
    command -v "$tool" >/dev/null && "$tool" --version | grep -q ' version 14\.' && echo "$tool" && return 0
  done
  return 1
}

check_includes() { python3 scripts/check_includes.py; }

case ${1:-all} in
  cheap) check_includes ;;
  all) check_includes ;;
  format) sources | xargs "$(clang_format)" -i ;;
  *) echo "usage: scripts/lint.sh cheap|all|format" >&2; exit 2 ;;
esac
