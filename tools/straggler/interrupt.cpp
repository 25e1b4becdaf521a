#include "tools/straggler/interrupt.hpp"

#include <csignal>

namespace straggler::cli {

namespace {

volatile std::sig_atomic_t requested = 0;

extern "C" void note(int signal) {
  if (requested) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // delivered when this handler returns
  }
  requested = 1;
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

bool interrupt_requested() { return requested != 0; }

}  // namespace straggler::cli
