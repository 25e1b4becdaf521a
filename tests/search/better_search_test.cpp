// What searches say of differences that no test supports.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/search/search_fixture.hpp"
#include "tests/support/text.hpp"

namespace better_search_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const asgd_or_ssgd = R"(crossover:
  between: [asgd, ssgd]
  along: cluster.network.link.bandwidth
  from: 5kB/s
  to: 500kB/s
  grid: 3
  tolerance: 50%
)";

using Values = std::vector<std::optional<double>>;

SearchOutcome crossed(const SearchFile& search, CrossoverGroup group) {
  SearchOutcome outcome = SearchOutcome::of(search);
  outcome.metric = {"time_to_target_s", false, true};
  outcome.crossed = {std::move(group)};
  return outcome;
}

/// What a crossover says of these values at 5, 50 and 500 kB/s.
std::string said(const SearchFile& search, const std::vector<std::pair<Values, Values>>& values, bool exact = false) {
  CrossoverSearch one(*search.crossover, false);
  for (std::size_t i = 0; i < values.size(); ++i)
    one.tell(search.crossover->along.value(static_cast<double>(i) / 2), Measured::of(values[i].first, exact),
             Measured::of(values[i].second, exact));
  return search_text(crossed(search, one.finish({})));
}

std::string csv(const SearchFile& search, const Values& first, const Values& second) {
  CrossoverSearch one(*search.crossover, false);
  one.tell(search.crossover->along.value(0), Measured::of(first), Measured::of(second));
  return search_csv(crossed(search, one.finish({})));
}

}  // namespace

TEST_CASE("a crossover names no scheme better where five of five meet four of five") {
  const Files files;
  const SearchFile search = search_of(files, learning_scenario, asgd_or_ssgd);
  const Values all{10, 11, 12, 13, 14}, four{10.5, 11.5, 12.5, 13.5, std::nullopt}, never(5);
  CHECK(has(csv(search, all, four), ",too few seeds to tell,asgd,too few seeds to tell\n"));
  CHECK(has(csv(search, never, never), ",nobody reached it,neither,nobody reached it\n"));
  CHECK(has(csv(search, all, never), ",asgd,asgd,asgd\n"));                             // p = 2 / C(10, 5) = 0.008
  CHECK(has(csv(search, Values(3, 1.0), Values(3)), ",asgd,too few seeds to tell\n"));  // p = 2 / C(6, 3) = 0.1
  const std::string everywhere = said(search, {{all, four}, {all, four}, {all, never}});
  CHECK(has(everywhere, "asgd is ahead in time_to_target_s everywhere"));
  CHECK(has(everywhere, "; it is better at 1 of 3 values, elsewhere: too few seeds to tell"));
  // 10 and 10.5 in every seed: certain, and less than 10 %.
  const Values ten(5, 10), more(5, 10.5);
  CHECK(has(csv(search, ten, more), ",\"asgd (differs by 5 %, less than 10 %)\",asgd,asgd\n"));
  const std::string near = said(search, {{ten, more}, {ten, more}, {ten, Values(5, 20)}});
  CHECK(has(near, "asgd has the better time_to_target_s everywhere"));
  CHECK(has(near, "; at 2 of 3 values they differ by less than 10 %\n"));
}

TEST_CASE("a crossing is reported where each is better on its side") {
  const Files files;
  const SearchFile search = search_of(files, learning_scenario, asgd_or_ssgd);
  const Values quick{10, 11, 12}, slow{20, 22.1, 24}, noisy{8, 30, 15};
  CHECK(has(said(search, {{quick, slow}, {quick, slow}, {slow, quick}}), "asgd has the better time_to_target_s below"));
  const std::string unsure = said(search, {{quick, slow}, {quick, slow}, {noisy, quick}});
  CHECK(has(unsure, "asgd is ahead in time_to_target_s below"));
  CHECK(has(unsure, "there are too few seeds to tell who is better: repeat more often"));
  // One run each: chance, unless the seed changes nothing.
  const std::vector<std::pair<Values, Values>> once{{{1}, {2}}, {{1}, {2}}, {{2}, {1}}};
  CHECK(has(said(search, once), "asgd is ahead in time_to_target_s below"));
  CHECK(has(said(search, once), "one seed cannot tell chance from a difference"));
  CHECK(has(said(search, once, true), "asgd has the better time_to_target_s below"));
  CHECK_FALSE(has(said(search, once, true), "one seed"));
}

TEST_CASE("the best of single runs may be chance, and the output says so; without jitter it is not") {
  const Files files;
  const char* const rates =
      "find: {metric: samples_per_second, over: {\"cluster.workers[0].count\": {from: 1, to: 4, whole: true}}, repeats: 1}\n";
  const Searched chance = run_search(search_of(files, learning_scenario, rates));
  CHECK(has(chance.text, "one run of each: one seed cannot tell chance from a difference"));
  const Searched certain = run_search(search_of(files, clockwork_scenario, rates));
  CHECK_FALSE(has(certain.text, "one seed"));
  CHECK(has(certain.text, "every other setting that was tried is worse"));
}

}  // namespace better_search_test
