#!/usr/bin/env bash
# run.sh COMMAND TESTS...: runs end-to-end tests of the command with the private environment's Python, else the system's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RESTRIDE=$1
export RESTRIDE PYTHONDONTWRITEBYTECODE=1
shift
for python in "$here/../../.venv/bin/python" python3; do
  if command -v "$python" >/dev/null && "$python" -c 'import numpy, pytest' 2>/dev/null; then
    exec "$python" -m pytest -q -p no:cacheprovider "$@"
  fi
done
echo "skipped: no Python with numpy and pytest (pip install numpy pytest ml_dtypes safetensors)"
exit 77
