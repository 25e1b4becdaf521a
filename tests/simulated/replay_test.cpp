// A replay of a run's own choices is that run: to the event, whatever fails, and however long is computed in vain.
#include <doctest/doctest.h>

#include "models/data/dataset.hpp"
#include "tests/simulated/books.hpp"
#include "tests/simulated/fault_stories.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/text.hpp"

namespace replay_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("every scheme, random faults: a replay of a run's own choices is that run") {
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    for (const Variant& variant : variants()) {
      const Story story = random_story(draw, variant);
      CAPTURE(draw);
      CAPTURE(variant.scheme);
      CAPTURE(story.faults);
      std::vector<std::string> sets = {"cluster.faults=[" + story.faults + "]",
                                       "cluster.servers.count=" + std::to_string(draw % 3 + (variant.by_server ? 1 : 0))};
      if (draw % 2) sets.push_back("training.batch={global: " + std::to_string(30 + draw) + "}");
      if (draw % 3) sets.push_back("devices.node.loader={workers: 1, per_sample: 0.3ms, prefetch: 2}");
      if (draw % 5 == 1) sets.push_back("devices.node.jitter={kind: gamma, shape: 2, every: call}");
      const Result result = run_timing(text(variant), sets);
      const std::string failure = error_of<std::exception>([&] { check_same(result, replay_timing(text(variant), sets, result)); });
      CHECK(failure == "");
    }
  }
}

TEST_CASE("a replay on another cluster that fails at the same moments follows the choices, or says that it cannot") {
  std::size_t followed = 0, strayed = 0, refused = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    for (const Variant& variant : variants()) {
      if (variant.one_worker || variant.one_process || variant.on_failure == "abort") continue;
      const Story story = random_story(draw, variant);
      CAPTURE(draw);
      CAPTURE(variant.scheme);
      CAPTURE(story.faults);
      std::vector<std::string> sets = {"cluster.faults=[" + story.faults + "]"};
      const Result result = run_timing(text(variant), sets);
      sets.push_back("cluster.network.link={bandwidth: " + std::string(draw % 2 ? "1Gbps" : "30Mbps") + ", latency: 2ms}");
      try {
        const Result other = replay_timing(text(variant), sets, result);
        check_books(other, variant.synchronous);
        const bool differs = other.record.updates == result.record.updates && other.record.weights_key != result.record.weights_key;
        CHECK(std::any_of(other.record.warnings.begin(), other.record.warnings.end(), [](const std::string& warning) {
                return warning.find("the replay ends with other weights") != std::string::npos;
              }) == differs);
        ++(differs ? strayed : followed);
      } catch (const DataError& wrong) {
        CAPTURE(std::string(wrong.what()));
        CHECK(std::string(wrong.what()).find("choices.csv: ") != std::string::npos);
        ++refused;
      }
    }
  }
  CHECK(followed > 0);
  CHECK(strayed > 0);
  CHECK(refused > 0);
}

}  // namespace replay_test
