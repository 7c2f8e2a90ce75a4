#!/usr/bin/env bash
# check_package.sh [CMAKE_ARGUMENT...]: makes the .deb and the .tar.gz, then installs and uses both in a bare Debian 12.
# check_package.sh --packages FOLDER: does so with the packages that lie in FOLDER.
# Needs root, debootstrap, dpkg-dev and a network; takes a build of the library and some ten minutes, 1 GB in $TMPDIR.
# Arguments go to CMake, for instance -DRESTRIDE_CUDA=OFF. DEBIAN_MIRROR names another mirror.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages=build/package
say() { printf '== %s\n' "$*"; }
die() { printf 'check_package: %s\n' "$*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || die "root is needed, for debootstrap and chroot"
for tool in debootstrap dpkg-shlibdeps cmake ninja; do
  command -v "$tool" >/dev/null || die "$tool is missing: apt-get install debootstrap dpkg-dev cmake ninja-build"
done

if [ "${1:-}" = --packages ]; then
  packages=${2:?a folder with the packages}
else
  say "packages, into $packages"
  rm -f "$packages"/restride*.deb "$packages"/restride*.tar.gz
  cmake --preset package "$@"
  nice cmake --build --preset package -j "${JOBS:-$(nproc)}"
  cpack --preset package
fi
deb=$(find "$packages/" -maxdepth 1 -name 'restride_*.deb' | grep .) || die "there is no .deb"
tgz=$(find "$packages/" -maxdepth 1 -name 'restride-*.tar.gz' | grep .) || die "there is no .tar.gz"
dpkg-deb --info "$deb"
if dpkg-deb --field "$deb" Depends | grep -E 'mpi|mpich'; then die "the package asks for an MPI, which few need"; fi

bare=$(mktemp -d "${TMPDIR:-/tmp}/restride_bare.XXXXXX")
chmod 755 "$bare"  # apt fetches as a user of its own
leave() {
  ! mountpoint -q "$bare/proc" || umount "$bare/proc"
  rm -rf --one-file-system "$bare"
}
trap leave EXIT
say "a bare Debian 12 in $bare"
timeout 600 debootstrap --variant=minbase bookworm "$bare" "$mirror" >"$packages/debootstrap.log" 2>&1 ||
  { tail -n 20 "$packages/debootstrap.log" >&2; die "debootstrap failed"; }
mount -t proc proc "$bare/proc" || say "no /proc in there: goes on without"
cp "$deb" "$bare/restride.deb"
cp "$tgz" "$bare/restride.tar.gz"
cp tests/packaging/consumer/main.c "$bare/main.c"
# What is quoted for bash in there is expanded in there.
inside() { timeout 600 chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

say "the .deb, beside nothing but what it asks for"
inside apt-get -q update
inside apt-get -q install -y --no-install-recommends /restride.deb
# shellcheck disable=SC2016
inside bash -euc '
  cd "$(mktemp -d)"
  photo=/usr/share/doc/restride/examples/data/astronaut.npy
  restride info
  restride copy $photo planes.npy --axes 2,0,1 --dtype f16
  restride copy planes.npy back.npy --axes 1,2,0 --dtype u8
  restride copy $photo same.npy
  cmp same.npy back.npy
  source /usr/share/bash-completion/completions/restride && complete -p restride
  ls /usr/share/man/man1/restride.1 /usr/share/doc/restride/{LICENSE,README.md,docs/install.md} >/dev/null
  /sbin/ldconfig -p | grep librestride.so'

say "programs against it: find_package, pkg-config"
inside apt-get -q install -y --no-install-recommends g++ cmake make pkg-config >"$packages/apt.log" ||
  { tail -n 20 "$packages/apt.log" >&2; die "apt-get failed"; }
# shellcheck disable=SC2016
inside bash -euc '
  cmake -S /usr/share/doc/restride/examples -B /examples
  cmake --build /examples
  ctest --test-dir /examples --output-on-failure
  cc -std=c99 /main.c -o /main $(pkg-config --cflags --libs restride) && /main'

say "the .tar.gz, without the .deb"
inside apt-get -q remove -y restride
# shellcheck disable=SC2016
inside bash -euc '
  if command -v restride; then exit 1; fi
  mkdir /opt/restride && tar -xzf /restride.tar.gz -C /opt/restride --strip-components=1
  export PKG_CONFIG_PATH=$(dirname "$(find /opt/restride -name restride.pc)")
  export LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
  /opt/restride/bin/restride --version
  cc -std=c99 /main.c -o /main $(pkg-config --cflags --libs restride) && /main
  cmake -S /opt/restride/share/doc/restride/examples -B /examples_tar -DCMAKE_PREFIX_PATH=/opt/restride
  cmake --build /examples_tar && ctest --test-dir /examples_tar --output-on-failure'
say "installed and used: $(basename "$deb"), $(basename "$tgz")"
