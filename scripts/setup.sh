# Sourced by ./dev: finds out what is missing and installs it. Nothing is installed twice or silently.
# shellcheck shell=bash

JOBS=${JOBS:-$(nproc)}
VENV=$PWD/.venv
LOG=$PWD/build/dev.log
cuda=''  # what CMake is told of GPU kernels (choose_cuda); empty: what the preset says

say() { if [ -t 1 ]; then printf '\033[1m== %s\033[0m\n' "$*"; else printf '== %s\n' "$*"; fi; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }

# Runs a command with its output in the log; shows the log only when it fails.
quiet() {  # TITLE COMMAND...
  say "$1"
  mkdir -p "$(dirname "$LOG")"
  "${@:2}" >"$LOG" 2>&1 || { cat "$LOG" >&2; die "failed: ${*:2}"; }
}

# ---- distribution packages

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'; }

packages_of() {  # GROUP...: the packages of scripts/packages.txt in any of the groups
  local name groups group
  while read -r name groups _; do
    [[ -z $name || $name == \#* ]] && continue
    for group in "$@"; do
      [[ ,$groups, == *,$group,* ]] && printf '%s\n' "$name" && break
    done
  done <scripts/packages.txt
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo -- "$@"
  else die "root or sudo is needed to run: $*"; fi
}

need() {  # GROUP...: installs the groups' missing packages
  local missing=() name
  command -v dpkg-query >/dev/null || return 0  # not Debian's family: CMake names what it misses
  while read -r name; do
    provided "$name" || installed "$name" || missing+=("$name")
  done < <(packages_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "install with apt-get:"
  for name in "${missing[@]}"; do grep -E "^${name//+/[+]} " scripts/packages.txt; done
  [ -z "${RESTRIDE_NO_INSTALL:-}" ] || die "RESTRIDE_NO_INSTALL is set; install these yourself: ${missing[*]}"
  apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"
}

# clang's package has no libFuzzer; the one that has is named after clang's version.
need_fuzzer() {
  need fuzz
  local program='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' package
  ! clang++ -x c++ -fsanitize=fuzzer,address,undefined -o /dev/null - <<<"$program" 2>/dev/null || return 0
  package=libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev
  say "install with apt-get: $package, libFuzzer and the sanitizers of clang"
  [ -z "${RESTRIDE_NO_INSTALL:-}" ] || die "RESTRIDE_NO_INSTALL is set; install this yourself: $package"
  apt_get update && apt_get install -y --no-install-recommends "$package"
}

# The browser for the tests of pages. Ubuntu's package is a stub of a snap, which no container runs.
need_browser() {
  if command -v chromium >/dev/null || grep -qs '^ID=debian' /etc/os-release; then need pages; else
    say "this distribution has no chromium as a package: the tests of pages are skipped"
  fi
}

# A tool that is there from elsewhere (a newer cmake, another Python) needs no package.
provided() {
  case $1 in
    g++ | cmake | clang | chromium) command -v "$1" >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    python3) command -v python3 >/dev/null ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    python3-dev) [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] ;;
    *) return 1 ;;
  esac
}

apt_get() {
  mkdir -p "$(dirname "$LOG")"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o APT::Update::Error-Mode=any "$@" >"$LOG" 2>&1 && return 0
  tail -n 20 "$LOG" >&2
  die "apt-get $1 failed (is there a network?). What is needed: $(packages_of build test | xargs)"
}

# ---- Python packages, into the private environment .venv

need_python() {  # WHAT_FOR PACKAGE...
  local missing=() name what_for=$1
  shift
  [ -x "$VENV/bin/python" ] || python3 -m venv "$VENV" || die "cannot make $VENV: is python3-venv installed?"
  for name in "$@"; do
    "$VENV/bin/python" - "$name" <<'PYTHON' 2>/dev/null || missing+=("$name")
import fnmatch, importlib.metadata, sys
name, _, version = sys.argv[1].partition("==")
sys.exit(not fnmatch.fnmatch(importlib.metadata.version(name), version or "*"))
PYTHON
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "install from PyPI into .venv, for $what_for: ${missing[*]}"
  [ -z "${RESTRIDE_NO_INSTALL:-}" ] || die "RESTRIDE_NO_INSTALL is set; .venv lacks: ${missing[*]}"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "${missing[@]}" ||
    die "pip could not install ${missing[*]} (is there a network?)"
}

need_test_python() { need_python "the command's end-to-end tests" numpy pytest ml_dtypes safetensors axe-core-python; }

need_docs_python() { need_python "the documentation's site" 'mkdocs==1.6.*' 'mkdocs-material==9.*' pytest axe-core-python; }

need_package_python() {
  need_test_python
  need_python "the Python package and its tests; torch takes a minute" scikit-build-core setuptools hypothesis einops \
    expecttest jax mpi4py 'torch==2.13.*'
}

# For tests by an NCCL of threads, where CUDA's headers are; NCCL itself is not used, but has no package of headers alone.
need_nccl_header() {
  installed_nvcc >/dev/null || private_nvcc >/dev/null || return 0
  [ ! -e /usr/include/nccl.h ] && [ ! -e /usr/local/cuda/include/nccl.h ] || return 0
  (need_python "NCCL's header; 300 MB" nvidia-nccl-cu13) || say "no nccl.h: exchanges by NCCL are not tested"
}

# The version that .clang-format is for; a distribution may have another.
need_format() { scripts/lint.sh has-format || need_python "the layout of the sources" clang-format==14.0.6; }

# ---- CUDA

# The toolkit's pieces on PyPI. The compiler does not pin its parts itself, so all are named.
CUDA_WHEELS=(nvidia-cuda-nvcc==13.0.\* nvidia-nvvm==13.0.\* nvidia-cuda-crt==13.0.\* nvidia-cuda-runtime==13.0.\*
  nvidia-cuda-cccl==13.0.\*)

has_gpu() { [ -e /dev/nvidiactl ]; }

# The oldest that cmake/RestrideCuda.cmake takes.
oldest_cuda() { sed -n 's/^set(RESTRIDE_OLDEST_CUDA \([0-9.]*\)).*/\1/p' cmake/RestrideCuda.cmake; }
version_of_nvcc() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*[0-9]\).*/\1/p'; }
at_least() { [ "$(printf '%s\n' "$@" | sort -V | head -n 1)" = "$2" ]; }  # VERSION OLDEST

installed_nvcc() { command -v nvcc || find /usr/local/cuda/bin -maxdepth 1 -name nvcc 2>/dev/null | grep .; }
private_nvcc() { find "$VENV"/lib/python3*/site-packages/nvidia/cu*/bin -maxdepth 1 -name nvcc 2>/dev/null | grep .; }

# What the wheels leave out: where nvcc looks for its libraries, and the name by which CMake looks for the runtime.
complete_private_cuda() {
  local runtime
  ln -sfn lib "$1/lib64"
  runtime=$(find "$1/lib" -maxdepth 1 -name 'libcudart.so.*' -printf '%f\n' | sort | head -n 1)
  [ -z "$runtime" ] || ln -sfn "$runtime" "$1/lib/libcudart.so"
}

# Whether build/dev has GPU kernels: then it keeps them, so that nothing is compiled twice.
has_kernels() {
  local cache=build/dev/CMakeCache.txt
  grep -qs '^CMAKE_CUDA_COMPILER:[A-Z]*=/' "$cache" && ! grep -q '^RESTRIDE_CUDA:[A-Z]*=OFF' "$cache"
}

# Sets cuda, what CMake is told: what RESTRIDE_CUDA says; else AUTO, which compiles GPU kernels where nvcc is. They take
# most of the time, so the command alone does without where no GPU could run them.
choose_cuda() {  # command|all
  cuda=${RESTRIDE_CUDA:-AUTO}
  if [ "$1" = command ] && [ -z "${RESTRIDE_CUDA:-}" ] && ! has_gpu && ! has_kernels; then cuda=OFF; fi
}

# An installed compiler that is new enough is used. Otherwise one is taken from PyPI where it is of use: there is a GPU,
# or RESTRIDE_CUDA=ON asks for it.
need_cuda() {
  case $cuda,${RESTRIDE_CUDA:-} in
    OFF,OFF) say "RESTRIDE_CUDA=OFF: GPU kernels are not compiled" && return 0 ;;
    OFF,) say "there is no GPU here: GPU kernels are not compiled; RESTRIDE_CUDA=ON compiles them" && return 0 ;;
  esac
  [ -z "${CUDACXX:-}" ] || return 0
  local nvcc version oldest
  if nvcc=$(installed_nvcc); then
    version=$(version_of_nvcc "$nvcc") oldest=$(oldest_cuda)
    ! at_least "${version:-0}" "$oldest" || return 0
    say "$nvcc is not used: it is of CUDA ${version:-(unknown)}, and $oldest is the oldest that will do"
  fi
  if [ "${RESTRIDE_CUDA:-}" = ON ] || has_gpu; then need_python "the GPU kernels" "${CUDA_WHEELS[@]}"; fi
  if nvcc=$(private_nvcc); then
    complete_private_cuda "$(dirname "$nvcc")/.."
    export CUDACXX=$nvcc
  else
    say "no CUDA compiler to use: GPU kernels are not compiled; RESTRIDE_CUDA=ON forces it (a compiler from PyPI)"
  fi
}

# One argument a line.
cmake_arguments() {
  if command -v ccache >/dev/null; then
    printf '%s\n' -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  [ -z "${cuda:-${RESTRIDE_CUDA:-}}" ] || echo "-DRESTRIDE_CUDA=${cuda:-$RESTRIDE_CUDA}"
  echo -Wno-dev
}
