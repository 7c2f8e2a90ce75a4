#!/usr/bin/env bash
# The tests that need an NVIDIA GPU, and the sanitizers over a part of them; writes a result file.
#   scripts/gpu_test.sh [all|tests|sanitizers]
# Environment: RESTRIDE_BIN (where gpu_test is; build/dev/bin), RESTRIDE_CASES (20000 random layouts), RESTRIDE_SEED,
# RESTRIDE_LARGE=0 (leave out what needs up to 97 GiB), RESTRIDE_COMMIT (when this is no git checkout),
# RESTRIDE_RESULTS (bench/results), RESTRIDE_SANITIZED_CASES (150).
# Exit status: 0 all passed, 77 no GPU and nothing tested, 1 else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

part=${1:-all}
bin=${RESTRIDE_BIN:-build/dev/bin}
results=${RESTRIDE_RESULTS:-bench/results}
commit=${RESTRIDE_COMMIT:-$(git describe --always --dirty --abbrev=12)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -x "$bin/gpu_test" ] || { echo "gpu-test: $bin/gpu_test is not built; a CUDA compiler is needed (RESTRIDE_CUDA=ON ./dev test builds it)" >&2; exit 1; }
status=0
"$bin/gpu_test" --gtest_filter=-* >"$work/device" || status=$?
cat "$work/device"
[ "$status" -ne 77 ] || exit 77

failed=0
: >"$work/tests.json"
if [ "$part" != sanitizers ]; then
  # By itself first: in a fresh process no kernel is loaded yet when the capture begins.
  "$bin/gpu_test" --gtest_filter='GpuStream.ACold*' || failed=1
  RESTRIDE_CASES=${RESTRIDE_CASES:-20000} "$bin/gpu_test" --gtest_output="json:$work/tests.json" 2>&1 | tee "$work/log" || failed=1
  "$bin/exchange_processes" 400 || failed=1
  # Multicast is off in all that runs on several GPUs: shared and virtual hosts may not survive it.
  export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
  for program in nccl_program_fake nccl_program_real; do
    if [ -x "$bin/$program" ]; then
      RESTRIDE_MODULES=${RESTRIDE_MODULES:-$bin/../src} "$bin/$program" || failed=1
    else
      echo "gpu-test: SKIPPED, $program is not built: exchanges by NCCL were not tested; it needs nccl.h (pip install nvidia-nccl-cu13)" >&2
    fi
  done
  [ ! -x "$bin/restride" ] || "$bin/restride" lab --check || failed=1
  # What it times writes the same bytes by all plans of a layout, else it ends with an error.
  [ ! -x "$bin/restride" ] || "$bin/restride" tune --device cuda --seconds 5 --dry-run || failed=1
fi

# tool <TAB> clean|dirty <TAB> found|missed <TAB> the tests under it
: >"$work/tools"
if [ "$part" != tests ]; then
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
  if [ -z "$sanitizer" ]; then
    echo "gpu-test: compute-sanitizer was not found, so nothing was checked with it; it comes with the CUDA toolkit" >&2
    failed=1
  else
    for tool in memcheck racecheck initcheck synccheck; do
      planted=missed clean=dirty
      # A tool that misses the planted fault would prove nothing about the kernels.
      "$sanitizer" --tool "$tool" --error-exitcode 9 "$bin/gpu_planted_faults" "$tool" >"$work/$tool.planted" 2>&1 || [ $? -ne 9 ] || planted=found
      if RESTRIDE_CASES=${RESTRIDE_SANITIZED_CASES:-150} RESTRIDE_SEED=${RESTRIDE_SEED:-1} \
        "$sanitizer" --tool "$tool" --error-exitcode 9 "$bin/gpu_test" --gtest_output="json:$work/$tool.json" \
        --gtest_filter='GpuSanitized.*:GpuDifferential.Every*:GpuCast.Edges*' >"$work/$tool.log" 2>&1; then clean=clean; else tail -60 "$work/$tool.log"; fi
      echo "$tool: the tests are $clean, the planted fault was $planted"
      printf '%s\t%s\t%s\t%s\n' "$tool" "$clean" "$planted" "$work/$tool.json" >>"$work/tools"
      [ "$clean/$planted" = clean/found ] || failed=1
    done
  fi
fi

python3 scripts/gpu_result.py --device "$work/device" --tests "$work/tests.json" --tools "$work/tools" --commit "$commit" \
  --command "scripts/gpu_test.sh $part" --out "$results"
exit "$failed"
