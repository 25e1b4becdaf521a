// Measured tables, claims and searches: their modules are not built under sanitizers, except for fuzzing.
#include "scenarios/search/search.hpp"
#include "tests/fuzz/target.hpp"
#include "validation/calibrate/measured.hpp"
#include "validation/compare/claim.hpp"
#include "validation/compare/rows.hpp"

namespace straggler::fuzz {
namespace {

constexpr const char* table = "workers,batch,note,seconds\n1,8,a,0.5\n2,8,b,0.3\n4,16,a,0.2\n8,16,b,0.1\n";

void measured(std::string_view input) {
  const std::string file = write_file("measured.csv", input);
  may_refuse<ScenarioErrors>([&] { read_measured(file); });
}
const AddTarget add_measured("measured", "a table for calibrate, in any of its formats", measured);

void claim(std::string_view input) {
  write_file("table.csv", table);
  const std::string file = write_file("claim.yaml", input);
  may_refuse<ScenarioErrors>([&] { read_rows(read_claim(file)); });
}
const AddTarget add_claim("claim", "a claim and its rows; table.csv lies beside it", claim);

void search(std::string_view input) {
  const std::string file = write_file("search.yaml", input);
  may_refuse<ScenarioErrors>([&] { describe_search(read_search(file)); });
}
const AddTarget add_search("search", "a sweep file with a search", search);

}  // namespace
}  // namespace straggler::fuzz
