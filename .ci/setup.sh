# What `run` and `check` share: install what is missing, configure, build. Sourced, not run.
# Nothing here needs a network, root or a terminal once everything is installed.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log=$(mktemp "${TMPDIR:-/tmp}/zero-steps.XXXXXX")
trap 'rm -f "$log"' EXIT

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$@"
  exit 1
}

# ---- what is missing ----

has_tool() { command -v "$1" > /dev/null 2>&1; }
has_module() { has_tool pkg-config && pkg-config --exists "$1"; }
has_package() {
  has_tool dpkg-query && [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

compiler() {
  local name
  for name in "${CXX:-c++}" g++ clang++; do
    if has_tool "$name"; then
      printf '%s\n' "$name"
      return
    fi
  done
}

# Debian's name of a package -> is what the build needs of it there, from wherever it came?
is_there() {
  case $1 in
    g++) [ -n "$(compiler)" ] ;;
    ninja-build) has_tool ninja ;;
    cmake | pkg-config | python3) has_tool "$1" ;;
    openmpi-bin) has_tool mpirun ;;
    libopenmpi-dev) has_tool mpicxx && { has_package "$1" || mpicxx --version > /dev/null 2>&1; } ;;
    libopenblas-dev) has_module openblas ;;
    libfmt-dev) has_module fmt || has_package "$1" ;;
    nlohmann-json3-dev) has_module nlohmann_json || has_package "$1" ;;
    libcli11-dev) has_module CLI11 || has_package "$1" ;;
    libsimdjson-dev) has_module simdjson || has_package "$1" ;;
    libimgui-dev) has_module imgui || has_package "$1" ;;
    libglfw3-dev) has_module glfw3 || has_package "$1" ;;
    libgl-dev) has_module gl || has_package "$1" ;;
    libpng-dev) has_module libpng || has_package "$1" ;;
    libgif-dev) [ -e /usr/include/gif_lib.h ] || has_package "$1" ;;
    fonts-roboto-unhinted) [ -e /usr/share/fonts/truetype/roboto ] || has_package "$1" ;;
    xvfb) has_tool Xvfb ;;
    xdotool | ffmpeg) has_tool "$1" ;;
    catch2) has_module catch2 || has_module catch2-with-main || has_package "$1" ;;
    *) has_package "$1" ;;
  esac
}

missing_of() {
  local package
  for package in "$@"; do
    is_there "$package" || printf '%s\n' "$package"
  done
}

# The build and the tests do without these, so a failure to install them is not the end.
is_optional() {
  [[ $1 == *openmpi* || $1 == libsimdjson-dev ]] || is_for_the_visualizer "$1"
}
is_for_the_visualizer() { [[ " ${visualizer_packages[*]} " == *" $1 "* ]]; }

# What is lost without an optional package.
without() {
  if [[ $1 == *openmpi* ]]; then printf 'ranks are threads only'
  elif [ "$1" = libsimdjson-dev ]; then printf 'large traces open more slowly'
  elif [ "$1" = libgif-dev ]; then printf 'the visualizer makes no GIF'
  elif [ "$1" = ffmpeg ]; then printf 'the visualizer makes no MP4'
  elif [[ $1 == libglfw3-dev || $1 == libgl-dev ]]; then printf 'the visualizer has no window'
  elif [[ $1 == libimgui-dev || $1 == libpng-dev ]]; then printf 'there is no visualizer'
  elif [[ $1 == fonts-* ]]; then printf 'the visualizer has a plainer font'
  else printf 'some tests are left out'
  fi
}

# ---- installing ----

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif [ -t 0 ]; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"  # nobody is there to type a password
  fi
}

# Fails at once, except while another program (on a fresh machine: the automatic update) holds the
# package database: then it waits, for up to five minutes.
apt_get() {
  local attempt
  for attempt in {1..30}; do
    as_root apt-get -q "$@" > "$log" 2>&1 && return
    grep -q -e 'Could not get lock' -e 'Unable to acquire the dpkg frontend lock' "$log" || return 1
    [ "$attempt" != 1 ] || say "waiting for another program that is installing packages ..."
    sleep 10
  done
  return 1
}

elsewhere() {
  say "This needs g++ 12 or clang 14 (or newer), cmake 3.25, ninja, pkg-config, OpenBLAS, fmt," \
    "nlohmann-json, CLI11;"
  say "Open MPI if ranks are to be processes; Catch2 and python3 for the tests; for the visualizer" \
    "Dear ImGui, libpng, GLFW, giflib. For example:"
  say "  Fedora  dnf install gcc-c++ cmake ninja-build pkgconf openblas-devel fmt-devel json-devel" \
    "cli11-devel openmpi-devel catch-devel python3"
  say "  Arch    pacman -S gcc cmake ninja pkgconf openblas fmt nlohmann-json cli11 openmpi catch2" \
    "python"
  say "  macOS   brew install cmake ninja pkgconf openblas fmt nlohmann-json cli11 open-mpi catch2"
}

# All at once; where one of them cannot be had, what is needed first, then the others one by one.
# The log is that of what is needed.
install_packages() {
  local package needed=() optional=()
  apt_get install --yes --no-install-recommends "$@" && return
  for package in "$@"; do
    if is_optional "$package"; then optional+=("$package"); else needed+=("$package"); fi
  done
  [ ${#optional[@]} != 0 ] || return 1
  for package in "${optional[@]}"; do
    apt_get install --yes --no-install-recommends "$package" || true
  done
  [ ${#needed[@]} = 0 ] || apt_get install --yes --no-install-recommends "${needed[@]}"
}

# Installs those of the named Debian packages that are missing; says nothing when none is.
install_missing() {
  local missing=() package
  for package in $(missing_of "$@"); do missing+=("$package"); done
  [ ${#missing[@]} != 0 ] || return 0

  if ! has_tool apt-get; then
    for package in "${missing[@]}"; do
      is_optional "$package" && continue
      say "missing, and this is not Debian or Ubuntu (no apt-get): ${missing[*]}"
      elsewhere
      break
    done
  elif [ "$(id -u)" != 0 ] && ! has_tool sudo; then
    say "missing: ${missing[*]}"
    say "To install it, run as root: apt-get install ${missing[*]}"
  else
    say "installing ${missing[*]} ..."
    apt_get update || true  # the lists already here may do; if not, the next line says why
    if ! install_packages "${missing[@]}"; then
      grep -e '^E: ' -e '^sudo: ' -e 'not in the sudoers' "$log" | head -n 1 >&2 || true
      say "They could not be installed. As root and with a network, see what this says:" \
        "apt-get update && apt-get install ${missing[*]}"
    fi
  fi

  missing=()
  for package in $(missing_of "$@"); do
    is_optional "$package" || exit 1
    missing+=("$package")
  done
  for package in ${missing[@]+"${missing[@]}"}; do
    say "Going on without $package: $(without "$package")."
  done
}

# ---- versions ----

at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

check_versions() {
  local name version
  version=$(cmake --version | sed -n '1s/^cmake version //p')
  at_least "$version" 3.25 ||
    fail "cmake $version is too old: 3.25 or newer is needed (python3 -m pip install cmake)."
  name=$(compiler)
  version=$("$name" -dumpversion)
  if "$name" --version | grep -q clang; then
    at_least "$version" 14 || fail "clang $version is too old: 14 or newer is needed" \
      "(install one and name it: CXX=clang++-14 $0)."
  else
    at_least "$version" 12 || fail "g++ $version is too old: 12 or newer is needed" \
      "(apt-get install g++-12, then CXX=g++-12 $0)."
  fi
}

# ---- building ----

processors() { getconf _NPROCESSORS_ONLN 2> /dev/null || printf '2\n'; }

# How far ninja is, "[120/400]", each half minute: nobody need wonder whether it hangs.
tell_progress() {
  local place
  while sleep 30 > /dev/null 2>&1; do
    place=$(tail -n 1 "$log" | grep -o '^\[[0-9]*/[0-9]*\]') || continue
    say "  $place"
  done
}

# quietly COMMAND...: on a terminal ninja rewrites one line; elsewhere errors are shown, and now and
# then how far it is.
quietly() {
  if [ -t 1 ]; then
    "$@"
  else
    local teller status=0
    tell_progress &
    teller=$!
    "$@" > "$log" 2>&1 || status=1
    kill "$teller" 2> /dev/null || true
    wait "$teller" 2> /dev/null || true
    [ $status = 0 ] || tail -n 40 "$log" >&2
    return $status
  fi
}

# configure PRESET OPTION...: what was found before may have been moved or removed since, or the
# checkout itself; so a failure is believed only when a fresh start fails too.
configure() {
  (cd "$root" && { cmake --preset "$@" || cmake --fresh --preset "$@"; }) > "$log" 2>&1
}

# build PRESET FOLDER TESTS TARGET...: configures the preset, with the tests (ON) or without (OFF),
# and builds.
build() {
  local preset=$1 folder=$2 tests=$3
  shift 3
  [ ! -e "$root/$folder/CMakeFiles" ] || [ -w "$root/$folder/CMakeFiles" ] ||
    fail "$folder/ belongs to another user (was it built with sudo?): remove it, then try again."
  configure "$preset" "-DZERO_TESTS=$tests" || {
    tail -n 40 "$log" >&2
    fail "CMake could not configure $folder/; its messages are above."
  }
  [ -t 1 ] || say "building $folder/ ..."
  quietly cmake --build "$root/$folder" --parallel "$(processors)" --target "$@" ||
    fail "The build in $folder/ failed; the compiler's messages are above."
}

# shellcheck disable=SC2034  # used by those who source this
build_packages=(g++ cmake ninja-build pkg-config libopenblas-dev libfmt-dev nlohmann-json3-dev
  libcli11-dev libopenmpi-dev openmpi-bin libsimdjson-dev libimgui-dev libglfw3-dev libgl-dev
  libpng-dev libgif-dev fonts-roboto-unhinted)
# shellcheck disable=SC2034
test_packages=(catch2 python3 xvfb xdotool libgl1-mesa-dri libstb-dev ffmpeg)
# Those of both that only the visualizer uses.
visualizer_packages=(libimgui-dev libglfw3-dev libgl-dev libpng-dev libgif-dev fonts-roboto-unhinted
  xvfb xdotool libgl1-mesa-dri libstb-dev ffmpeg)
