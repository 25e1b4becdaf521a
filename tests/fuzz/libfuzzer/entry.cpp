// The entry of libFuzzer. STRAGGLER_FUZZ_TARGET names the target. A find ends the process, and libFuzzer keeps the input.
#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.hpp"

namespace {

// Above this much live memory beyond what was there before the input, the input is a find. Set by STRAGGLER_FUZZ_MEMORY, in MB.
std::size_t most_memory = std::size_t{200} << 20;
std::atomic<std::size_t> live{std::size_t{1} << 40};  // what was allocated before the hooks is freed, too
std::atomic<std::size_t> allowed{~std::size_t{0}};

void on_malloc(const volatile void*, std::size_t size) {
  if (live.fetch_add(size, std::memory_order_relaxed) + size <= allowed.load(std::memory_order_relaxed)) return;
  allowed = ~std::size_t{0};
  std::fprintf(stderr, "more than %zu MB of memory\n", most_memory >> 20);
  std::abort();
}

void on_free(const volatile void* pointer) {
  if (pointer) live.fetch_sub(__sanitizer_get_allocated_size(const_cast<const void*>(pointer)), std::memory_order_relaxed);
}

const straggler::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const auto& all = straggler::fuzz::targets();
  const char* const name = std::getenv("STRAGGLER_FUZZ_TARGET");
  if (!name || !all.contains(name)) {
    for (const auto& [known, each] : all) std::printf("%s\t%s\n", known.c_str(), each.summary.c_str());
    std::exit(name ? 2 : 0);
  }
  target = &all.at(name);
  if (const char* megabytes = std::getenv("STRAGGLER_FUZZ_MEMORY")) most_memory = std::strtoul(megabytes, nullptr, 10) << 20;
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  allowed = live + most_memory;
  try {
    run_target(*target, {reinterpret_cast<const char*>(data), size});
  } catch (const straggler::fuzz::Find& find) {
    std::fprintf(stderr, "find: %s\n", find.what());
    std::abort();
  }
  allowed = ~std::size_t{0};
  return 0;
}
