#!/usr/bin/env bash
# Checks everything that needs a GPU, on a machine that has one, and prints what it found.
set -euo pipefail

usage() {
  cat << 'EOF'
Usage: tests/gpu/device_check.sh [OPTION]...

Takes under five minutes. Needs a GPU, its driver, and cuBLAS (from the CUDA toolkit or from pip, of
the same major version as where the bundle was packed); no compiler and no network: what it runs
comes from a bundle that tests/gpu/bundle.sh has packed. Where there is none it packs one first, if
this machine has what that needs. Without NCCL (from the system or from pip), compute-sanitizer
(from the toolkit) or PyTorch, what needs them is left out.

  1. kernels    every operator on the GPU: the definition, and the operator on the CPU
  2. matrix     the four stages, 1, 2 and 4 ranks on one GPU, three types, ring and direct: the same
                bits; and the same again when it is repeated
  3. nccl       NCCL with one rank, and a stage that uses it; the four stages on two GPUs and more,
                where there are some, with the bits of one
  4. sanitizer  compute-sanitizer's memcheck and racecheck on a short run
  5. benchmark  GPT-2's 124M shape, beside PyTorch where it is; the operators beside the card's
                ceilings

  --bundle FOLDER     the bundle; default: this script's folder, or build-gpu/bundle
  --emulated BUILD    the emulated GPU in this build folder in place of a real one, with small sizes
  --only PART,PART    some of the parts
  --python PYTHON     a python that has PyTorch; default: python3
  --logs FOLDER       where the outputs stay; default: device_check.logs

The exit status is 0 when no part failed. What stands between the two lines of "-----" is Markdown,
for tests/gpu/RESULTS.md.
EOF
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { printf '%s\n' "$*"; }
fail() {
  printf 'device_check.sh: %s\n' "$*" >&2
  exit 1
}

# ---- the command line ----------------------------------------------------------------------------

bundle='' emulated='' only='' python=python3 logs=device_check.logs
while [ $# != 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --bundle | --emulated | --only | --python | --logs)
      [ $# -ge 2 ] || fail "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
[ -n "$only" ] || only=kernels,matrix,nccl,sanitizer,benchmark
for part in ${only//,/ }; do
  [[ " kernels matrix nccl sanitizer benchmark " == *" $part "* ]] ||
    fail "--only: there is no part $part; see --help"
done

# ---- what is here ------------------------------------------------------------------------------

root=
[ ! -e "$here/../../CMakeLists.txt" ] || root=$(cd "$here/../.." && pwd)
pytorch_step=$here/pytorch_step.py
[ -e "$pytorch_step" ] || pytorch_step=$root/tests/benchmark/pytorch_step.py

if [ -n "$emulated" ]; then
  programs=$(cd "$emulated" && pwd)
  ZERO_GPU_LIBRARY=$(find "$programs" -name 'libzero_cuda_emulated.so' | head -n 1)
  [ -n "$ZERO_GPU_LIBRARY" ] || fail "--emulated: $programs has no emulated GPU; build it there"
  export ZERO_GPU_LIBRARY EMU_DEVICES=2
  emulated=yes
elif [ -n "$bundle" ]; then
  programs=$(cd "$bundle" && pwd)
elif [ -d "$here/stages" ]; then
  programs=$here
else
  programs=$root/build-gpu/bundle
  if [ ! -d "$programs" ]; then
    say "There is no bundle; packing one takes some minutes ..."
    "$here/bundle.sh" || fail "pack a bundle with tests/gpu/bundle.sh, on a machine that can"
  fi
fi
# The kernels' tests, too, take the module beside them, not the emulated GPU of their build folder.
export ZERO_GPU_LIBRARY=${ZERO_GPU_LIBRARY-}
begin_checks=$SECONDS
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
rm -f "$logs"/{first,summary,kernels,matrix,nccl,sanitizer,benchmark}.*  # of an earlier check

# cuBLAS and NCCL: where the loader looks; else in the toolkit, or where pip puts NVIDIA's packages.
nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin type -P nvcc) || nvcc=
path_before=${LD_LIBRARY_PATH-}
library_folders() {
  [ -z "$nvcc" ] || printf '%s\n' "${nvcc%/*}"/../{lib64,lib}
  printf '%s\n' "${CUDA_HOME:-/usr/local/cuda}"/{lib64,lib} /usr/local/cuda*/{lib64,lib} \
    /usr/local/cuda*/targets/*/lib /usr/lib/x86_64-linux-gnu
  "$python" -c 'import sys; print(*sys.path, sep="\n")' 2> /dev/null |
    while read -r folder; do printf '%s\n' "$folder"/nvidia/*/lib; done
}
# Where NCCL is nowhere, the GPU's part that was built without it takes the other's place.
find_libraries() {
  local library folder module=$programs/common/libzero_cuda.so
  [ -z "$emulated" ] || return 0
  while :; do
    library=$(ldd "$module" |
      sed -n 's/^\t*\(.*\) => not found/\1/p' | head -n 1)
    [ -n "$library" ] || break
    folder=$(library_folders | while read -r folder; do
      [ ! -e "$folder/$library" ] || printf '%s\n' "$folder"
    done | head -n 1)
    if [ -z "$folder" ] && [[ $library == libnccl.so* ]]; then
      module=$programs/common/libzero_cuda_no_nccl.so
      [ -e "$module" ] || fail "$library is nowhere on this machine, and the bundle has no part" \
        "that was built without NCCL: pack it again"
      export ZERO_GPU_LIBRARY=$module no_nccl=$library
      continue
    fi
    [ -n "$folder" ] || fail "$library is nowhere on this machine (the toolkit, pip's packages," \
      "LD_LIBRARY_PATH): the bundle was built with another version, or it is not installed"
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  done
}
no_nccl=
find_libraries

# PyTorch has libraries of its own: it does not get the search path of this script.
if timeout 30 "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
  pytorch=$("$python" -c 'import torch; print("PyTorch", torch.__version__)')
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$path_before" "$(type -P "$python")" \
    > "$logs/python"
  chmod +x "$logs/python"
  python=$logs/python
else
  pytorch='no PyTorch'
  python=
fi

cpus=$(getconf _NPROCESSORS_ONLN)
at_once=$((cpus / 2 < 1 ? 1 : cpus / 2 > 6 ? 6 : cpus / 2))
[ -z "$emulated" ] || at_once=2
export programs emulated logs python pytorch_step nvcc at_once

timeout --kill-after=5 30 "$programs/stages/ddp" --device cuda --ranks 4 --layers 1 --heads 1 \
  --channels 8 --context 8 --batch 4 --iterations 1 > "$logs/first.out" 2> "$logs/first.err" || {
  case $? in 124 | 137) say "nothing within 30 s" >> "$logs/first.err" ;; esac
  fail "no GPU that can be used: $(cat "$logs/first.err")"
}
card=$(sed -n 's/^device: \([^(]*\) (.*/\1/p' "$logs/first.err" | head -n 1)
gpus=$(sed -n 's/^device: .* \([0-9]*\) GPUs\?.*/\1/p' "$logs/first.err" | head -n 1)
[ -n "$gpus" ] || fail "not understood: $(cat "$logs/first.err")"
export gpus  # at most 4: more there may be, but no rank uses them here
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null | head -n 1) ||
  driver=
toolkit=$([ -z "$nvcc" ] || "$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
commit=$(cat "$programs/commit" 2> /dev/null ||
  git -C "$here" rev-parse --short=12 HEAD 2> /dev/null || say unknown)

# ---- the parts -----------------------------------------------------------------------------------

# Seconds that a part may take: so many, and no more than is left of five minutes. A part that does
# not end when it is told to is killed five seconds later.
declare -A limits=([kernels]=70 [matrix]=60 [nccl]=20 [sanitizer]=50 [benchmark]=90)

bad=0
{
  say "## $(date -u +%Y-%m-%d): ${card:-unknown card}"
  say
  say "Commit $commit; driver ${driver:-unknown}, CUDA ${toolkit:-unknown}, $pytorch."
  say
  say '| part | verdict | what | s |'
  say '|---|---|---|---|'
} > "$logs/summary.md"
say "${card:-unknown card}; commit $commit; driver ${driver:-unknown}, CUDA ${toolkit:-unknown}"
for part in ${only//,/ }; do
  began=$SECONDS
  status=0
  limit=$((begin_checks + 290 - SECONDS))
  limit=$((limit < 10 ? 10 : limit < limits[$part] ? limit : limits[$part]))
  longest=$((limit - 5)) timeout --kill-after=5 "$limit" \
    "$here/parts.sh" "$part" > "$logs/$part.md" 2> "$logs/$part.part.err" || status=$?
  case $status in
    0) word=passed ;;
    77) word='left out' ;;
    *) word=FAILED bad=1 ;;
  esac
  case $status in 124 | 137) say "it took more than $limit s" > "$logs/$part.verdict" ;; esac
  what=$(cat "$logs/$part.verdict" 2> /dev/null || tail -n 1 "$logs/$part.part.err")
  say "$part: $word: $what ($((SECONDS - began)) s)"
  say "| $part | $word | $what | $((SECONDS - began)) |" >> "$logs/summary.md"
done

say
say "----- for tests/gpu/RESULTS.md: begin -----"
cat "$logs/summary.md"
for part in ${only//,/ }; do
  [ -s "$logs/$part.md" ] || continue
  printf '\n### %s\n\n' "$part"
  cat "$logs/$part.md"
done
say "----- for tests/gpu/RESULTS.md: end -----"
say "outputs: $logs; $SECONDS s in all"
exit $bad
