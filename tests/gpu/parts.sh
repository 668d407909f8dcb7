#!/usr/bin/env bash
# One part of device_check.sh, which says in the environment where everything is: parts.sh PART.
# Prints what it found, as Markdown; writes one line to $logs/PART.verdict. The exit status is 0; 1
# when something was wrong; 77 when it cannot be done here.
set -euo pipefail

# emulated, python and nvcc are empty where there is none; no_nccl is where there is NCCL.
: "${programs:?}" "${logs:?}" "${at_once:?}" "${longest:?}" "${gpus:?}"
: "${emulated=}" "${no_nccl=}" "${python=}" "${pytorch_step=}" "${nvcc=}"
part=$1

say() { printf '%s\n' "$*"; }

# start NAME COMMAND...: in the background, a few at a time, none longer than the part may take.
# Then `wait`, and status_of NAME.
start() {
  local name=$1
  shift
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
  local left=$((longest > SECONDS ? longest - SECONDS : 1))
  {
    local began=$SECONDS status=0
    timeout --kill-after=2 $left "$@" \
      > "$logs/$part.$name.out" 2> "$logs/$part.$name.err" < /dev/null || status=$?
    [ $status != 124 ] || say "not done within $left s" >> "$logs/$part.$name.out"
    printf '%s %s\n' $status $((SECONDS - began)) > "$logs/$part.$name.status"
  } &
}
status_of() { cut -d ' ' -f 1 "$logs/$part.$1.status"; }
seconds_of() { cut -d ' ' -f 2 "$logs/$part.$1.status"; }
last_error() { cat "$logs/$part.$1".{err,out} | grep -v '^ *$' | tail -n 1 || true; }

verdict() { printf '%s\n' "$*" > "$logs/$part.verdict"; }

check_kernels() {
  local program name good=0 bad=0
  local all=("$programs"/tests/*_operators_*_test "$programs"/tests/cuda_against_cpu_test)
  # On the emulated GPU all of them are tests of their own, and take their time: here one will do.
  [ -z "$emulated" ] || all=("$programs"/tests/emulated_operators_loss_test)
  say '| program | tests | s |'
  say '|---|---|---|'
  for program in "${all[@]}"; do
    start "${program##*/}" "$program"
  done
  wait
  for program in "${all[@]}"; do
    name=${program##*/}
    if [ "$(status_of "$name")" = 0 ] && ! grep -q 'No tests ran' "$logs/$part.$name.out"; then
      good=$((good + 1))
      say "| $name | $(sed -n 's/^All tests passed (\(.*\))$/\1/p' "$logs/$part.$name.out")" \
        "| $(seconds_of "$name") |"
    else
      bad=$((bad + 1))
      say "| $name | **failed**: $(last_error "$name") | $(seconds_of "$name") |"
    fi
  done
  verdict "$good of $((good + bad)) programs passed"
  [ $bad = 0 ] && [ $good != 0 ]
}

# The four stages side by side; their work; the fingerprint that all four ended with.
compare() {
  start "$1.$2.$3" "$programs/stages/compare" --device cuda --quiet --ranks "$1" --dtype "$2" \
    --collectives "$3" "${shape[@]}"
}
shape=(--batch 24 --iterations 4)
[ -z "$emulated" ] ||
  shape=(--layers 1 --heads 2 --channels 14 --context 7 --batch 4 --iterations 2)
fingerprint() { awk '$1 == "fingerprint" { print $2 }' "$logs/$1.out"; }

# All ranks on the first GPU, where there are several.
check_matrix() {
  local ranks dtype algorithm stage name row bad=0 good=0
  local all_ranks=(1 2 4) dtypes=(fp16 bf16 fp32)
  if [ -n "$emulated" ]; then
    all_ranks=(1 2)
    dtypes=(fp16 bf16)
  fi
  export EMU_DEVICES=1 CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
  CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES%%,*}
  for ranks in "${all_ranks[@]}"; do
    for dtype in "${dtypes[@]}"; do
      for algorithm in ring direct; do compare "$ranks" "$dtype" "$algorithm"; done
    done
  done
  for stage in ddp zero1 zero2 zero3; do
    for name in first second; do
      start "$stage.$name" "$programs/stages/$stage" --device cuda --ranks "${all_ranks[-1]}" \
        --dtype bf16 "${shape[@]}"
    done
  done
  wait

  say '| ranks | type | ring: fingerprint of all four stages | direct |'
  say '|---|---|---|---|'
  for ranks in "${all_ranks[@]}"; do
    for dtype in "${dtypes[@]}"; do
      row="| $ranks | $dtype |"
      for algorithm in ring direct; do
        name=$ranks.$dtype.$algorithm
        if [ "$(status_of "$name")" = 0 ]; then
          good=$((good + 1))
          row+=" \`$(fingerprint "$part.$name")\` |"
        else
          bad=$((bad + 1))
          row+=" **failed**: $(last_error "$name") |"
        fi
      done
      say "$row"
    done
  done
  local repeated=0
  for stage in ddp zero1 zero2 zero3; do
    if [ "$(status_of $stage.first) $(status_of $stage.second)" = '0 0' ] &&
      [ -s "$logs/$part.$stage.first.out" ] &&
      diff <(sed '/ms per iteration/d' "$logs/$part.$stage.first.out") \
        <(sed '/ms per iteration/d' "$logs/$part.$stage.second.out") > /dev/null; then
      repeated=$((repeated + 1))
    fi
  done
  verdict "$good of $((good + bad)) comparisons have the same bits in all four stages," \
    "$repeated of 4 stages print the same when repeated"
  [ $bad = 0 ] && [ $repeated = 4 ]
}

# One rank; and, where there are GPUs for more, as many ranks as there are, up to four: they must
# end with the bits that the matrix has on one GPU.
check_nccl() {
  local algorithm bad=0 said
  if [ -n "$no_nccl" ]; then
    verdict "NCCL is not on this machine ($no_nccl)"
    return 77
  fi
  start one_rank "$programs/tests/${emulated:+emulated_}nccl_one_rank"
  start ddp "$programs/stages/ddp" --device cuda --ranks 1 --batch 2 --iterations 3
  [ "$gpus" = 1 ] || for algorithm in ring direct; do compare "$gpus" bf16 $algorithm; done
  wait
  [ "$(status_of one_rank)" = 0 ] || bad=1
  said=$(last_error one_rank)
  if [ "$(status_of ddp)" != 0 ] || ! grep -q ', NCCL)' "$logs/$part.ddp.err"; then bad=1; fi
  say "\`ddp --ranks 1\` says: $(grep '^device: ' "$logs/$part.ddp.err" || last_error ddp)"
  [ "$gpus" = 1 ] || for algorithm in ring direct; do
    if [ "$(status_of "$gpus.bf16.$algorithm")" != 0 ]; then
      said+="; $gpus GPUs, $algorithm: $(last_error "$gpus.bf16.$algorithm")"
      bad=1
    elif [ ! -e "$logs/matrix.$gpus.bf16.$algorithm.out" ]; then
      said+="; $gpus GPUs, $algorithm: the same bits in all four stages"
    elif [ "$(fingerprint "$part.$gpus.bf16.$algorithm")" = \
      "$(fingerprint "matrix.$gpus.bf16.$algorithm")" ]; then
      said+="; $gpus GPUs, $algorithm: the same bits as on one"
    else
      said+="; $gpus GPUs, $algorithm: other bits than on one"
      bad=1
    fi
  done
  verdict "$said"
  [ $bad = 0 ]
}

check_sanitizer() {
  local tool sanitizer refusal bad=0 said=
  if [ -n "$emulated" ]; then
    verdict "not for the emulated GPU, whose tests run under ASan and TSan"
    return 77
  fi
  sanitizer=$(PATH=$PATH:${nvcc%/*}:${nvcc%/*}/../compute-sanitizer:/usr/local/cuda/bin type -P \
    compute-sanitizer) || {
    verdict "there is no compute-sanitizer here"
    return 77
  }
  # What NCCL tries and does without is no error; races are looked for in the project's own kernels.
  local options
  for tool in memcheck racecheck; do
    options=(--tool "$tool" --error-exitcode 9)
    if [ $tool = memcheck ]; then options+=(--report-api-errors no); fi
    if [ $tool = racecheck ]; then options+=(--kernel-name kns=4zero); fi
    start $tool "$sanitizer" "${options[@]}" "$programs/stages/ddp" --device cuda --ranks 1 \
      --layers 1 --heads 2 --channels 32 --context 16 --batch 2 --iterations 1
  done
  wait
  for tool in memcheck racecheck; do
    if [ "$(status_of $tool)" != 0 ] && refusal=$(grep -h -i -m 1 -E \
      'device not supported|unable to find injection|LibraryNotLoaded' \
      "$logs/$part.$tool".{out,err}); then
      verdict "compute-sanitizer refuses this device: $refusal"
      return 77
    fi
    [ "$(status_of $tool)" = 0 ] || bad=1
    said+="${said:+; }$tool: $(grep -h 'SUMMARY' "$logs/$part.$tool".{out,err} |
      sed 's/^=* *//' || last_error $tool)"
  done
  verdict "$said"
  [ $bad = 0 ]
}

check_benchmark() {
  local options=() status=0
  [ -z "$emulated" ] || options+=(--tiny)
  if [ -n "$python" ]; then options+=(--pytorch "$python" --script "$pytorch_step"); fi
  "$programs/tests/${emulated:+emulated_}gpu_benchmark" "${options[@]}" \
    2> "$logs/benchmark.err" < /dev/null || status=$?
  verdict 'see the tables'
  [ $status = 0 ] || verdict "$(tail -n 1 "$logs/benchmark.err")"
  return $status
}

case $part in
  kernels) check_kernels ;;
  matrix) check_matrix ;;
  nccl) check_nccl ;;
  sanitizer) check_sanitizer ;;
  benchmark) check_benchmark ;;
esac
