#!/usr/bin/env bash
# run.sh BUILD TESTS...: runs tests of the package that install.sh has installed.
set -euo pipefail
python=$1/python/venv/bin/python
cd "$(dirname "${BASH_SOURCE[0]}")"
export PYTHONDONTWRITEBYTECODE=1
if [ ! -x "$python" ]; then
  echo "skipped: the package is not installed in $1/python/venv"
  exit 77
fi
status=0
"$python" -m pytest -q -p no:cacheprovider "${@:2}" || status=$?
[ "$status" -ne 5 ] || exit 77  # all of it was skipped, as the tests of a GPU are without one
exit "$status"
