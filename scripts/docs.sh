#!/usr/bin/env bash
# The documentation as a site: scripts/docs.sh RESTRIDE PYTHON [OUT]. ./dev docs gives it what it needs.
#   RESTRIDE  the command, which draws pages of plans, results and the lab
#   PYTHON    one with mkdocs-material
#   OUT       build/docs; the site is OUT/site/index.html, and needs no server and no network
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
restride=$(realpath "$1") python=$2 out=${3:-build/docs}

mkdir -p "$out/doxygen"
{ cat scripts/site/Doxyfile; echo "OUTPUT_DIRECTORY = $out/doxygen"; } | doxygen - >"$out/doxygen.log" 2>&1 ||
  { cat "$out/doxygen.log" >&2; exit 1; }
"$python" scripts/site/stage.py "$out/pages" --restride "$restride" --doxygen-xml "$out/doxygen/xml"
NO_MKDOCS_2_WARNING=1 RESTRIDE_PAGES=pages RESTRIDE_SITE=site "$python" -m mkdocs -q build -f "$out/mkdocs.yml"
"$python" scripts/site/check.py "$out/site"
echo "site: $out/site/index.html"
