// Every file of tests/fuzz/corpus/TARGET through its target, as libFuzzer does for hours (tools/fuzz): seeds, and what was once a find.
#include <doctest/doctest.h>

#include "tests/fuzz/target.hpp"

using namespace straggler;

namespace {

const std::filesystem::path corpus = std::filesystem::path(STRAGGLER_SOURCE_DIR) / "tests/fuzz/corpus";

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every input of the corpora is accepted or refused") {
  for (const auto& each : fuzz::targets()) {
    const std::string& name = each.first;  // clang 14 captures no structured binding, which CAPTURE does
    const fuzz::Target& target = each.second;
    CAPTURE(name);
    std::size_t inputs = 0;
    for (const auto& file : std::filesystem::directory_iterator(corpus / name)) {
      CAPTURE(file.path().filename().string());
      CHECK_NOTHROW(fuzz::run_target(target, content(file.path())));
      ++inputs;
    }
    CHECK(inputs > 0);
    CHECK_NOTHROW(fuzz::run_target(target, ""));
  }
}

TEST_CASE("an error that is no refusal is a find") {
  const fuzz::Target wrong{"wrong", "", [](std::string_view) { fuzz::may_refuse<std::invalid_argument>([] { throw std::bad_alloc(); }); }};
  CHECK_THROWS_AS(fuzz::run_target(wrong, ""), fuzz::Find);
  const fuzz::Target derived{"derived", "",
                             [](std::string_view) { fuzz::may_refuse<std::logic_error>([] { throw std::length_error("too long"); }); }};
  CHECK_THROWS_AS(fuzz::run_target(derived, ""), fuzz::Find);
  const fuzz::Target bare{"bare", "",
                          [](std::string_view) { fuzz::may_refuse<std::invalid_argument>([] { throw std::invalid_argument("stoi"); }); }};
  CHECK_THROWS_AS(fuzz::run_target(bare, ""), fuzz::Find);
  const fuzz::Target fine{"fine", "", [](std::string_view) {
                            fuzz::may_refuse<std::invalid_argument>([] { throw std::invalid_argument("no number; write one"); });
                          }};
  CHECK_NOTHROW(fuzz::run_target(fine, ""));
}
