#!/usr/bin/env bash
# mpi_fault.sh LAUNCHER RANKS PROGRAM KIND PATTERN LIVE: a launch with a planted fault. It ends within a minute, and LIVE
# ranks say what PATTERN says. With LIVE 0 the launcher has to end the job itself.
set -uo pipefail
launcher=$1 ranks=$2 program=$3 kind=$4 pattern=$5 live=$6
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
said=$(timeout --kill-after=5 60 "$launcher" -np "$ranks" "$program" fault "$kind" 2>&1)
status=$?
printf '%s\n' "$said"
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ] && [ "$live" -ne 0 ]; then
  echo "the launch did not end by itself within a minute"
  exit 1
fi
count=$(printf '%s\n' "$said" | grep -cE "$pattern")
if [ "$live" -eq 0 ]; then
  [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
elif [ "$count" -lt "$live" ]; then
  echo "$count ranks name it, $live should: $pattern"
  exit 1
fi
