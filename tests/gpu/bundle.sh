#!/usr/bin/env bash
# Builds what device_check.sh needs into one folder, for a machine that has a GPU, its driver and
# cuBLAS, and perhaps NCCL.
set -euo pipefail

readonly limit_mib=64

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case ${1-} in
  -h | --help)
    cat << EOF
Usage: tests/gpu/bundle.sh [FOLDER]     (default: build-gpu/bundle)

Needs what ./check needs, and the CUDA toolkit with cuBLAS and NCCL; no GPU. Builds in build-gpu/
(some minutes the first time), for any x86-64 processor since 2013 and for GPUs from compute
capability 8.0 on, and packs the programs, the tests, the benchmark, and the libraries that a bare
machine lacks: at most $limit_mib MiB. Copy the folder to the machine and run device_check.sh in it.

Not packed, so the machine must have them:
  the C library    as new as here
  cuBLAS           of the same major version, from the CUDA toolkit or from pip
  NCCL             version 2, from the system or from pip; optional: the GPU's part is packed
                   without it, too, and then the check of NCCL is left out
EOF
    exit
    ;;
esac

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "bundle.sh: $*"
  exit 1
}

out=${1:-$root/build-gpu/bundle}
build=$root/build-gpu
for tool in cmake ninja strip ldd; do
  command -v "$tool" > /dev/null || fail "$tool is not installed (./check installs it)"
done

# ---- build ----

flags=
[ "$(uname -m)" != x86_64 ] || flags=-march=x86-64-v3
# The libraries are found from where the programs lie, also by the libraries among themselves: that
# is what the old kind of search path does.
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DZERO_CUDA=ON -DZERO_NCCL=ON -DZERO_MPI=OFF -DZERO_VISUALIZER=OFF -DZERO_NATIVE=OFF \
  -DCMAKE_CXX_FLAGS="$flags" "-DCMAKE_CUDA_ARCHITECTURES=80-real;90" \
  "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib" \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
  -DCMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags > "$build.log" 2>&1 ||
  { tail -n 20 "$build.log" >&2; fail "CMake could not configure $build"; }
rm -f "$build.log"
say "building $build ..."
cmake --build "$build" --target gpu_check >&2

# ---- pack ----

rm -rf "$out"
mkdir -p "$out"/{common,lib,stages,tests}
out=$(cd "$out" && pwd)
cp "$build"/stages/{ddp,zero1,zero2,zero3,compare} "$out/stages"
cp "$build"/common/libzero_cuda{,_no_nccl}.so "$out/common"
while read -r name; do
  cp "$build/tests/$name" "$out/tests/${name/#emulated_/gpu_}"
done < "$build/tests/gpu/programs.txt"
cp "$root"/tests/gpu/{device_check,parts}.sh "$root"/tests/benchmark/pytorch_step.py "$out"

# What the programs are linked with, except for what every machine has and what stays there.
programs=("$out"/stages/* "$out"/tests/* "$out"/common/*)
of_the_machine='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|util|resolv))\.so'
not_packed='/lib(cublas|cublasLt|cudart|nccl|cuda)\.so'
! ldd "${programs[@]}" | grep 'not found' >&2 || fail "libraries are missing here"
ldd "${programs[@]}" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u |
  grep -v -E -e "$of_the_machine" -e "$not_packed" |
  while read -r library; do cp -L "$library" "$out/lib"; done
strip --strip-unneeded "${programs[@]}" "$out"/lib/*

commit=$(git -C "$root" rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no 2> /dev/null)" ] ||
  commit="$commit, with changes"
printf '%s\n' "$commit" > "$out/commit"

mib=$((($(du -sb "$out" | cut -f 1) + 1048575) / 1048576))
say "$out: $mib MiB"
[ "$mib" -le $limit_mib ] || fail "that is more than $limit_mib MiB"
