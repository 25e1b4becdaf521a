// Every registered scheme before a server that handles fewer messages than its workers could send: the run ends as overloaded exactly where
// the entry says that they do not wait for answers, and check warns of it.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/training/scheme.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace overload_contract_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("every scheme says whether its workers send on without an answer" * long_case) {
  std::size_t unanswered = 0;
  for (const SchemeVariant& variant : all_scheme_variants()) {
    if (variant.exchange() != Exchange::server || variant.entry->only_workers) continue;
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    RunOptions options;
    options.timing_only = true;
    // Four workers that send 40,000 messages a second if nothing holds them, and a server that handles 1,000.
    const std::string yaml = cluster(4);
    const std::vector<std::string> sets = {"devices.node.compute.affine.per_sample=1us", "training.scheme=" + scheme,
                                           "cluster.servers.per_message=1ms", "training.stop={simulated_time: 10s}"};
    CHECK((run(yaml, sets, options).record.outcome == Outcome::overloaded) == variant.entry->unanswered);
    const std::vector<std::string> warnings = Experiment(scenario_of(yaml, sets), options).explain().warnings;
    CHECK(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
            return warning.find("messages pile up and the run ends as overloaded") != std::string::npos;
          }) == variant.entry->unanswered);
    unanswered += variant.entry->unanswered;
  }
  CHECK(unanswered > 0);
}

}  // namespace overload_contract_test
