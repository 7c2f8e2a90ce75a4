#!/usr/bin/env bash
# install.sh BUILD: the wheel of what the build folder holds, installed into a clean environment, BUILD/python/venv. NumPy,
# torch and others come from .venv, by a line in a .pth file: nothing is downloaded, and restride is nowhere else.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=.venv/bin/python
if ! { [ -x $python ] && $python -c 'import numpy, pytest, scikit_build_core'; } 2>/dev/null; then
  echo "skipped: .venv has no numpy, pytest and scikit-build-core (./dev test installs them)"
  exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
wheels=$build/python/wheels venv=$build/python/venv
rm -rf "$wheels" "$venv"
$python -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps --no-index -w "$wheels" \
  --config-settings "cmake.define.RESTRIDE_PREBUILT=$build" .  # -C is newer than Debian 12
$python -m venv --without-pip "$venv"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
$python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/of_the_checkout.pth"
$python -m pip -q --disable-pip-version-check --python "$venv/bin/python" install --no-deps --no-index --force-reinstall "$wheels"/*.whl
# restride-torch from a copy of its sources: it is compiled in place.
if $python -c 'import torch, setuptools' 2>/dev/null; then
  cp -rT python/torch "$build/python/torch"
  CC="$(command -v ccache || true) cc" CXX="$(command -v ccache || true) c++" "$venv/bin/python" -m pip -q \
    --disable-pip-version-check install --no-deps --no-index --no-build-isolation --force-reinstall "$build/python/torch"
fi
ls -l "$wheels"
