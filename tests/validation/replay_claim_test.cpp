// Claims of `kind: replay`: what an import writes about itself.
#include <doctest/doctest.h>

#include "scenarios/import/import_format.hpp"
#include "tests/support/text.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

namespace replay_claims {

using namespace straggler;
using test::has;

TEST_CASE("an import's claim is a replay: it says how near a run comes, and counts as no claim") {
  const test::TemporaryFolder folder;
  const std::filesystem::path table = folder.write("ranks.csv", "rank,step,seconds\n0,1,1.0\n1,1,1.5\n0,2,1.2\n1,2,1.1\n");
  for (const auto& [name, text] : import_files({.files = {table}, .format = {}, .options = {}}).files) folder.write(name, text);
  const ClaimResult result = test::validate(folder / "claim.yaml");
  REQUIRE(result.rows.size() == 1);
  CHECK(result.rows[0].measured == doctest::Approx((1.5 + 1.2) / 2));
  CHECK(result.holds());
  CHECK(has(claim_table(result), "a replay, no prediction"));
  CHECK(has(claim_line(result), "not counted"));
  CHECK(claims_summary({result}) == "1 replay, which counts as no claim");
  ClaimResult other = result;
  other.claim.kind = Claim::Kind::prediction;
  CHECK(claims_summary({result, other}) == "1 of 1 claim holds; 1 replay, which counts as no claim");
}

}  // namespace replay_claims
