// straggler: which way of training finishes first on this cluster, and why?
#include <cstdio>
#include <cstdlib>

#include "sim/base/refusal.hpp"
#include "tools/straggler/launcher.hpp"
#include "tools/straggler/program.hpp"

int main(int count, char** arguments) {
  using namespace straggler;
  using namespace straggler::cli;
  prepare_process();
  const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
  const auto hand_over = [&] {
    hand_over_to_ranks(words);
    return Exit::done;
  };
  if (const int code = guarded(words, hand_over)) return code;
  const int code = run_program(words);
  std::fflush(stderr);
#ifdef STRAGGLER_RECORDS_PROFILE
  return code;  // counters are written at a process's regular end
#endif
  // Standard output is flushed. Tables that live as long as the process are not taken apart: the system takes all memory at once.
  std::_Exit(code);
}
