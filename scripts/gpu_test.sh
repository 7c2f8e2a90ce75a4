#!/usr/bin/env bash
# The tests that need an NVIDIA GPU: everything that ctest labels `gpu`. Needs a build with CUDA (./dev builds it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -e /dev/nvidiactl ] || { echo "gpu-test: there is no NVIDIA GPU on this machine" >&2; exit 1; }
ctest --test-dir build/dev -L gpu --output-on-failure --no-tests=error "$@"
