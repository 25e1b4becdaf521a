// The page of a run shows the seed as the scenario has it: digits that can be copied, whatever their number.
#include <doctest/doctest.h>

#include "scenarios/report/run_page.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("the page of a run shows its seed exactly, without separators") {
  const TemporaryFolder folder;
  folder.write("curve.csv", "time_s,epoch,update,train_loss,train_accuracy,test_loss,test_accuracy\n");
  folder.write("scenario.yaml", "straggler: 1\n");
  folder.write("thresholds.csv", "threshold,time_s\n");
  folder.write("workers.csv", "worker,group,device\n");
  folder.write("staleness.csv", "staleness,count\n");
  folder.write("links.csv", "link,bytes,utilization\n");
  // Beyond 2^53 a double would show another number, 2^64 - 1 as 0.
  for (const char* const seed : {"0", "12345", "9007199254740993", "18446744073709551615"}) {
    folder.write("summary.json",
                 R"({"name": "x", "scheme": "asgd", "workers": 1200, "updates": 9007199254740993, "seed": )" + std::string(seed) + "}");
    const std::string page = run_page(folder.path());
    CHECK_MESSAGE(has(page, "asynchronous SGD (asgd) on 1,200 workers, seed " + std::string(seed) + "."), seed);
    CHECK(has(page, "9,007,199,254,740,993"));
  }
}
