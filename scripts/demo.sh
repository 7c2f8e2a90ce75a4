#!/usr/bin/env bash
# The main job on real input: a photograph goes from the layout of cameras and files (height, width, channel) into
# the layouts that programs compute in; every result is compared with NumPy's; then the plan and the speed are shown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

photo=examples/data/astronaut.npy
restride=build/dev/bin/restride
out=build/demo
rm -rf "$out"
mkdir -p "$out"

step() {
  local word
  printf '\n$ restride'
  for word in "$@"; do
    if [[ $word == *[\ \(]* ]]; then printf " '%s'" "$word"; else printf ' %s' "$word"; fi
  done
  printf '\n'
  "$restride" "$@"
}

echo "A photograph (NASA, public domain): $photo, u8 (512,512,3)"
step copy "$photo" "$out/planes_f32.npy" --axes 2,0,1 --dtype f32
step copy "$photo" "$out/planes_f16.npy" --rearrange 'h w c -> c w h' --dtype f16
step copy "$photo" "$out/patches.npy" --rearrange '(h p) (w q) c -> (h w) (p q c)' --size p=16 --size q=16
step copy "$photo" "$out/face_mirrored.npy" --slice '16:208,128:320' --flip 1
step copy "$out/planes_f32.npy" "$out/back.npy" --axes 1,2,0 --dtype u8

echo
.venv/bin/python scripts/demo_check.py "$photo" "$out"
step explain "$photo" --axes 2,0,1 --dtype f32
threads=1
[ "$(nproc)" -eq 1 ] || threads=1,$(nproc)
step bench --cases examples/data/photographs.json --reps 5 --threads "$threads"
echo
echo "The files are in $out. Ratio: the time of the best plain copy of the same bytes / ours; 1 is as fast as copying."
