#include "sim/base/aside_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "sim/base/text_lines.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using straggler::test::TemporaryFolder;

namespace fs = std::filesystem;

TEST_CASE("a file replaces an existing one when it is put into place") {
  const TemporaryFolder folder;
  const fs::path place = folder.path() / "data.bin";
  folder.write("data.bin", "old");
  {
    AsideFile aside(place);
    CHECK(aside.path().filename() == "data.bin");
    std::ofstream(aside.path()) << "new";
    CHECK(read_file(place).text == "old");
    CHECK_FALSE(aside.put_into_place());
    CHECK(read_file(place).text == "new");
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a file that is not put into its place leaves nothing") {
  const TemporaryFolder folder;
  {
    const AsideFile aside(folder.path() / "data.bin");
    std::ofstream(aside.path()) << "half";
    CHECK(fs::exists(aside.path()));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a file that cannot be put into place reports why, and is removed") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "taken");
  {
    AsideFile aside(folder.path() / "taken");
    CHECK(aside.put_into_place() == std::errc::no_such_file_or_directory);
    std::ofstream(aside.path()) << "text";
    CHECK(aside.put_into_place() == std::errc::is_a_directory);
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}
