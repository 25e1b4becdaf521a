#include "sim/base/yaml_text.hpp"

#include <doctest/doctest.h>

using straggler::yaml_quoted;

TEST_CASE("quoted text stays on one line, with special characters escaped") {
  CHECK(yaml_quoted("") == R"("")");
  CHECK(yaml_quoted("a: b # c") == R"("a: b # c")");
  CHECK(yaml_quoted(R"(say "x" \ y)") == R"("say \"x\" \\ y")");
  CHECK(yaml_quoted("a\n\tb") == R"("a\n\tb")");
  CHECK(yaml_quoted("\x01\x1f\x7f") == R"("\x01\x1f\x7f")");
  CHECK(yaml_quoted("\xC3\xA4") == "\"\xC3\xA4\"");
}
