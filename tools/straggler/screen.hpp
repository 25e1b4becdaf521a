// Results for people: on a terminal, long lines are wrapped at its width; a pipe or file gets one entry a line.
#pragma once
#include "sim/base/screen.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

template <class... Values>
void print_screen(fmt::format_string<Values...> format, Values&&... values) {
  print_text("{}", wrapped(fmt::format(format, std::forward<Values>(values)...), terminal_width(stdout)));
}

}  // namespace straggler::cli
