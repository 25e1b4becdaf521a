// Claims of imports that predict files that are held out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "scenarios/import/import_format.hpp"
#include "tests/support/text.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

namespace held_out_claims {

using namespace straggler;
using test::has;

ClaimResult claim_of(const test::TemporaryFolder& folder, const std::vector<std::filesystem::path>& files,
                     const std::vector<std::filesystem::path>& held) {
  for (const auto& [name, text] : import_files({.files = files, .format = {}, .options = {}, .held_out = held}).files)
    folder.write(name, text);
  return test::validate(folder / "claim.yaml");
}

TEST_CASE("MLPerf logs of 1, 2 and 4 nodes predict 8, and say that its batch was not measured") {
  const test::TemporaryFolder folder;
  std::vector<std::filesystem::path> files, held;
  for (const int nodes : {1, 2, 4, 8})
    for (int run = 0; run < 5; ++run)
      (nodes == 8 ? held : files)
          .push_back(std::filesystem::path(STRAGGLER_SOURCE_DIR) /
                     fmt::format("tests/import/files/mlperf/dell_resnet_nodes{:02}_result{}.txt.gz", nodes, run));
  const ClaimResult result = claim_of(folder, files, held);
  std::size_t predicted = 0;
  for (const auto& row : result.rows) {
    if (row.row.use != RowUse::held_out) continue;
    ++predicted;
    CHECK(row.measured == doctest::Approx(0.04195).epsilon(1e-3));
    // Half of 72.5 ms for half the batch, and the line through 204 and 256 images a GPU.
    CHECK(row.measured * (1 + row.error) >= 0.036);
    CHECK(row.measured * (1 + row.error) <= 0.048);
    CHECK(std::ranges::any_of(row.outside, [](const std::string& each) { return each.starts_with("batch 102"); }));
  }
  CHECK(predicted == 1);
  CHECK(result.rows.size() == 4);
  const auto job = import_files({.files = files, .format = {}, .options = {}, .held_out = held});
  bool warned = false;
  for (const auto& [label, sentence] : job.said)
    warned = warned || (label == "warning" && has(sentence, "102 samples a worker are outside of the measured batches (204 to 256)"));
  CHECK(warned);
}

TEST_CASE("a log with another batch is predicted in proportion to it") {
  const test::TemporaryFolder folder;
  const auto log = [&](const char* name, double ms, int batch) {
    std::string text;
    for (int i = 10; i < 16; ++i)
      text += fmt::format(" iteration {}/ 100 | elapsed time per iteration (ms): {:.1f} | global batch size: {} |\n", i, ms, batch);
    return folder.write(name, text);
  };
  const ClaimResult result = claim_of(folder, {log("a.log", 400, 64)}, {log("b.log", 790, 128)});
  REQUIRE(result.rows.size() == 1);
  CHECK(result.rows[0].error == doctest::Approx(800.0 / 790 - 1).epsilon(0.01));
  CHECK(result.holds());
  CHECK(result.claim.kind == Claim::Kind::prediction);
}

}  // namespace held_out_claims
