# Sourced by what builds and tests: what Debian 12 must have, how to get it, and how long a stage took.

# To build the program and to run it.
program_packages=(
  g++ cmake ninja-build libboost-dev libboost-program-options-dev libboost-graph-dev libboost-random-dev libeigen3-dev libyaml-cpp-dev libfmt-dev
  nlohmann-json3-dev librandom123-dev zlib1g-dev libdeflate-dev libsqlite3-dev libnlopt-dev libnlopt-cxx-dev libdnnl-dev dataset-fashion-mnist
)
python_packages=(pybind11-dev python3-dev python3-numpy python3-pandas)
mpi_packages=(libopenmpi-dev openmpi-bin)
# To compile everything, with its tests.
compiled_packages=("${program_packages[@]}" "${python_packages[@]}" "${mpi_packages[@]}" ccache doctest-dev)
# What tests run beside it.
tests_packages=(
  clang-format-14 python3-jsonschema python3-yaml
  python3-pip python3-setuptools python3-venv python3-wheel python3-matplotlib python3-ipykernel python3-nbclient
  chromium chromium-driver python3-selenium
  python3-torch  # 178 MB with libtorch: tests/python/check_layers
)
clang_packages=(clang-19 libclang-rt-19-dev lld libbenchmark-dev)  # tools/test asan, tools/clang_syntax; lld links tests faster
# To build the page that holds the simulator (tools/page/build).
page_packages=(clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 wasi-libc dpkg-dev)
# Brings what pages draw charts with; Debian's own are left alone where another npm is there.
command -v npm >/dev/null || { compiled_packages+=(nodejs npm); page_packages+=(nodejs npm); }
straggler_packages=("${compiled_packages[@]}" "${tests_packages[@]}")

# install_missing PACKAGE...: installs those that are not there; as root, or with sudo.
install_missing() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "installing: ${missing[*]}" >&2
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "these packages are missing and need root: apt-get install ${missing[*]}" >&2; return 2; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET [TARGET...]: configures if need be and builds what is old. A terminal sees each step, a log every line of progress.
build() {
  local preset=$1 log
  shift
  log=$(mktemp)
  if ! cmake --preset "$preset" "${build_options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  echo "building $preset (minutes the first time, seconds after)" >&2
  NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" ${1:+--target "$@"} >&2
}
build_options=()  # of cmake

# stage NAME COMMAND...: runs it, and says how long it took. Fails as it does.
stage() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" || status=$?
  local seconds=$((SECONDS - start))
  printf '%s: %d min %02d s\n' "$name" $((seconds / 60)) $((seconds % 60))
  return $status
}
