#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "sim/base/late_library.hpp"
#include "tests/support/text.hpp"

namespace late_library_test {

using straggler::LateLibrary;

namespace {

std::string refusal(const LateLibrary& library, const char* symbol) {
  return straggler::test::error_of<straggler::MissingLibrary>([&] { library.symbol(symbol); });
}

}  // namespace

TEST_CASE("a function of a library that is loaded late is the library's") {
  const LateLibrary math("libm.so.6", "libc6");
  CHECK(math.function<double(double)>("floor")(2.7) == 2);  // exact, whatever the library
  CHECK(math.symbol("floor") == math.symbol("floor"));
}

TEST_CASE("a missing library or symbol is reported with the package that has it") {
  const std::string missing = refusal(LateLibrary("libnot-there.so.7", "libnot7"), "f");
  CHECK(missing.find("libnot-there.so.7 cannot be loaded: ") == 0);
  CHECK(missing.find("install Debian's libnot7") != std::string::npos);
  const std::string unknown = refusal(LateLibrary("libm.so.6", "libc6"), "no_such_function");
  CHECK(unknown.find("libm.so.6 has no 'no_such_function'") == 0);
  CHECK(unknown.find("install libc6 again") != std::string::npos);
}

}  // namespace late_library_test
