#!/usr/bin/env bash
# How large a model can each stage train in 64 MiB per GPU? Found by running: layers are added until
# the program runs out of memory.
#
# usage: stages/ladder.sh [OPTION VALUE]...
#
# The options are those of the stage programs: --device cpu, --batch 120, --memory-budget 32MiB, ...;
# without --batch there is one sequence for each rank. BUILD in the environment names the folder of
# the build.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"
  exit
fi
programs=${BUILD:-$(dirname "${BASH_SOURCE[0]}")/../build}/stages
if [[ ! -x $programs/ddp ]]; then
  echo "ladder.sh: there is no program $programs/ddp; build first (./run), or name the folder: BUILD=..." >&2
  exit 2
fi
declare -A option=([--device]=simulated [--ranks]=4 [--memory-budget]=64MiB [--iterations]=1)
while (($# >= 2)); do
  option[$1]=$2
  shift 2
done
option[--batch]=${option[--batch]:-${option[--ranks]}}
if [[ -v option[--layers] ]]; then
  echo "ladder.sh: --layers: is what it looks for; leave it out" >&2
  exit 2
fi
if (($# > 0)); then
  echo "ladder.sh: $1: write options as OPTION VALUE; for example --device cpu" >&2
  exit 2
fi

# What STAGE prints with so many LAYERS, as `output`. False where the memory is too small.
fits() {
  local words=() name
  for name in "${!option[@]}"; do words+=("$name" "${option[$name]}"); done
  if output=$("$programs/$1" "${words[@]}" --layers "$2" 2>&1); then return 0; fi
  if [[ $output == *"out of memory"* ]]; then return 1; fi
  echo "$output" >&2
  exit 2
}

printf '%-8s %8s %14s %20s\n' '' layers parameters 'bytes at the peak'
for stage in ddp zero1 zero2 zero3; do
  good=0 bad=1
  while ((bad <= 10000)) && fits "$stage" "$bad"; do  # the programs take no more
    good=$bad
    bad=$((2 * bad))
  done
  while ((bad - good > 1)); do
    middle=$(((good + bad) / 2))
    if fits "$stage" "$middle"; then good=$middle; else bad=$middle; fi
  done
  if ((good == 0)); then
    printf '%-8s not even one layer fits\n' "$stage"
    continue
  fi
  fits "$stage" "$good"
  [[ $output =~ ([0-9,]+)\ parameters ]] && parameters=${BASH_REMATCH[1]}
  [[ $output =~ all\ together\ \(peak\)\ +([0-9,]+) ]] && peak=${BASH_REMATCH[1]}
  printf '%-8s %8s %14s %20s\n' "$stage" "$good" "$parameters" "$peak"
done
