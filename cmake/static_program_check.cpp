// Links if fmt_archive.cpp holds what the program needs of fmt (StaticProgram.cmake).
#include <fmt/format.h>

int main(int count, char**) {
  try {
    fmt::print(stdout, "{:>8} {:.3g} {:L}\n", fmt::format("{}", 0.5 * count), 1.5F * static_cast<float>(count), count);
  } catch (const fmt::format_error&) {
    return 1;
  }
}
