// Where `straggler playground` finds its page, and what opens it.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/program/workplace.hpp"

namespace playground_test {

using straggler::test::Workplace;

TEST_CASE("playground: without its page one line says how to make it; with it, --path prints it, and a browser opens it") {
  const Workplace place;
  REQUIRE(place.shell("mkdir -p bin share/straggler && cp " STRAGGLER_PROGRAM " bin/straggler").code == 0);
  const std::string own = "bin/straggler playground",
                    page = (std::filesystem::canonical(place.folder()) / "share/straggler/straggler.html").string();
  const auto missing = place.shell(own + " --path");
  CHECK(missing.code == 2);
  CHECK(missing.out.empty());
  CHECK(missing.err ==
        "straggler: " + page + ": the page is not here; tools/page/build makes it before a package or an archive is built\n");

  place.write("share/straggler/straggler.html", "<p>here</p>");
  const auto path = place.shell(own + " --path");
  CHECK(path.code == 0);
  CHECK(path.out == page + "\n");

  place.write("xdg-open", "#!/bin/sh\necho \"$1\" >opened.txt\n");
  const auto opened = place.shell("chmod +x xdg-open; PATH=$PWD:$PATH " + own);
  CHECK(opened.code == 0);
  CHECK(opened.out == page + "\n");
  CHECK(opened.err.empty());
  CHECK(place.read("opened.txt") == page + "\n");

  place.write("xdg-open", "#!/bin/sh\nexit 3\n");
  place.write("open", "#!/bin/sh\nexit 3\n");
  const auto shut = place.shell("chmod +x open; PATH=$PWD:$PATH " + own);
  CHECK(shut.code == 0);
  CHECK(shut.err == "no browser could be started; open this file in one\n");
}

}  // namespace playground_test
