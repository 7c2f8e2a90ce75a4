#!/usr/bin/env bash
# Runs every fuzz target of build/fuzz for a while, on its kept corpus: scripts/fuzz.sh [SECONDS] [TARGET...]
# New inputs go to build/fuzz/corpus/<target>; a finding is written to build/fuzz/ and ends the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cd build/fuzz/bin && ls -- *_fuzz)

for target in "${targets[@]}"; do
  found=build/fuzz/corpus/$target
  kept=tests/fuzz/corpus/${target%_fuzz}
  mkdir -p "$found" "$kept"
  echo "== $target for $seconds s"
  nice build/fuzz/bin/"$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/"$target"- "$found" "$kept" 2>&1 | tail -n 12
done
echo "${#targets[@]} passed, 0 failed"
