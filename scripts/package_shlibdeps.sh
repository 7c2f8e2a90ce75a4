#!/usr/bin/env bash
# package_shlibdeps.sh ARGUMENT...: dpkg-shlibdeps for CPack, without the modules for MPI. Each is loaded only into a
# process that has its MPI, so the package asks for none.
set -euo pipefail
arguments=()
for argument in "$@"; do [[ $argument == */librestride_mpi_*.so ]] || arguments+=("$argument"); done
exec dpkg-shlibdeps "${arguments[@]}"
