// docs/add-a-scheme.md shows parts of files that are built here: they must be in those files as they stand on the page.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(STRAGGLER_SOURCE_DIR) + "/" + path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What stands between ```LANGUAGE and ```.
std::vector<std::string> code_blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  const std::string opening = "```" + language + "\n";
  for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
    at += opening.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

}  // namespace

TEST_CASE("the code that docs/add-a-scheme.md shows is built, and tested") {
  const std::string files =
      text_of("sim/schemes/k_batch_async.cpp") + text_of("sim/schemes/parts.cpp") + text_of("tests/training/k_batch_async_test.cpp");
  const std::vector<std::string> blocks = code_blocks(text_of("docs/add-a-scheme.md"), "cpp");
  REQUIRE(blocks.size() >= 4);
  for (const std::string& block : blocks) {
    CAPTURE(block);
    CHECK(files.find(block) != std::string::npos);
  }
  CHECK_MESSAGE(blocks[0] + "\n" + blocks[3] == text_of("sim/schemes/k_batch_async.cpp"), "the page shows the whole file of the scheme");
}

TEST_CASE("the reference that docs/add-a-scheme.md shows is the whole file that is compared") {
  const std::vector<std::string> blocks = code_blocks(text_of("docs/add-a-scheme.md"), "python");
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0] == text_of("validation/reference_model/schemes/k_batch_async.py"));
}
