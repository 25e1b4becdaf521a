#include "tools/straggler/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace straggler::cli {

namespace {

std::atomic<std::int64_t> first{0};  // time of the first signal, in ns of the monotonic clock; 0: none
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 1;
}

extern "C" void note(int signal) {
  const std::int64_t at = now();
  std::int64_t before = 0;
  if (first.compare_exchange_strong(before, at) || at - before < 1'000'000'000) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this handler returns
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void request_interrupt() {
  std::int64_t before = 0;
  first.compare_exchange_strong(before, now());
}

bool interrupt_requested() { return first.load() != 0; }

}  // namespace straggler::cli
