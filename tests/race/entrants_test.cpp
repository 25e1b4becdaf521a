#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "scenarios/race/race.hpp"
#include "scenarios/schema/errors.hpp"
#include "tests/support/text.hpp"

using namespace straggler;

namespace {

std::string refusal(const std::function<void()>& act) {
  return test::error_of<std::invalid_argument>([&] { act(); });
}

}  // namespace

TEST_CASE("entrants by scheme: names, flow YAML, labels") {
  const std::vector<Entrant> all =
      entrants_of_schemes("ssgd, a={kind: asgd, staleness: inverse} ,b=asgd,{kind: nonblocking, minibatch: 10}");
  REQUIRE(all.size() == 4);
  const std::vector<std::string> labels{"ssgd", "a", "b", "nonblocking"},
      yaml{"ssgd", "{kind: asgd, staleness: inverse}", "asgd", "{kind: nonblocking, minibatch: 10}"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(all[i].label == labels[i]);
    REQUIRE(all[i].set.size() == 1);
    CHECK(all[i].set[0].first == "training.scheme");
    CHECK(all[i].set[0].second == yaml[i]);
  }
  for (const char* wrong : {"ssgd,,asgd", "ssgd,", "a=,b=asgd", "{staleness: inverse}", "a b=asgd", "[ssgd]", "{kind: asgd"}) {
    CAPTURE(wrong);
    CHECK_FALSE(refusal([&] { entrants_of_schemes(wrong); }).empty());
  }
}

TEST_CASE("entrants by scheme: with a compressor, or a compressor alone") {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Entrant> all =
      entrants_of_schemes("ssgd,topk={kind: asgd, compression: {kind: top_k, fraction: 0.1}, staleness: inverse},top_k,none");
  REQUIRE(all.size() == 4);
  CHECK(all[0].set == Settings{{"training.scheme", "ssgd"}});
  CHECK(all[1].label == "topk");
  CHECK(all[1].set ==
        Settings{{"training.scheme", "{kind: asgd, staleness: inverse}"}, {"training.compression", "{kind: top_k, fraction: 0.1}"}});
  CHECK(all[2].label == "top_k");
  CHECK(all[2].set == Settings{{"training.compression", "top_k"}});
  CHECK(all[3].set == Settings{{"training.compression", "none"}});
}

TEST_CASE("an entrant by its settings") {
  const Entrant slow = entrant_of_yaml("slow: {training.scheme: {kind: asgd}, \"cluster.workers[0].slowdown\": 1.1}");
  CHECK(slow.label == "slow");
  REQUIRE(slow.set.size() == 2);
  CHECK(slow.set[0].second == "{kind: asgd}");
  CHECK(slow.set[1].first == "cluster.workers[0].slowdown");
  CHECK(entrant_of_yaml("as_it_is: {}").set.empty());
  for (const char* wrong : {"slow", "slow: 3", "slow:", "{a: {b: 1}, c: {d: 2}}", "\"a b\": {c: 1}"}) {
    CAPTURE(wrong);
    CHECK_FALSE(refusal([&] { entrant_of_yaml(wrong); }).empty());
  }
}

TEST_CASE("candidates cover their ranges evenly, are all different, and are the same every time") {
  const Tuning tuning = tuning_of({"learning_rate,momentum", "training.batch.per_worker={from: 8, to: 64, scale: log, whole: true}"}, 32);
  REQUIRE(tuning.candidates.size() == 32);
  CHECK(tuning.paths[0] == "training.optimizer.learning_rate");
  CHECK(std::set<std::vector<std::string>>(tuning.candidates.begin(), tuning.candidates.end()).size() == 32);
  int low_rates = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const double rate = std::stod(tuning.candidates[i][0]), momentum = std::stod(tuning.candidates[i][1]);
    CHECK(rate >= 1e-3);
    CHECK(rate <= 1);
    CHECK(momentum <= 0.99);
    low_rates += rate < std::sqrt(1e-3);
  }
  CHECK(low_rates >= 15);  // half of them below the middle of the logarithms
  CHECK(low_rates <= 17);
  CHECK(tuning_of({"learning_rate,momentum", "training.batch.per_worker={from: 8, to: 64, scale: log, whole: true}"}, 32).candidates ==
        tuning.candidates);
  CHECK(tuning_of({"training.scheme.staleness=[none, inverse, inverse_sqrt]"}, 20).candidates.size() == 3);

  const auto said = [](const std::string& what) { return refusal([&] { tuning_of({what}, 4); }); };
  CHECK(said("learning_rat").find("did you mean 'learning_rate'?") != std::string::npos);
  CHECK(said("training.optimizer.epsilon").find("has no range") != std::string::npos);
  CHECK(said("learning_rate,learning_rate").find("tuned twice") != std::string::npos);
  CHECK(said("momentum={from: 0.9, to: 0.1}").find("from") != std::string::npos);
  CHECK(said("momentum={from: 0.9}").find("to is missing") != std::string::npos);
  CHECK(said("momentum={from: 0, to: 1, scale: cubic}").find("scale is 'cubic'") != std::string::npos);
  CHECK(said("momentum={from: 0, to: 1, step: 3}").find("unknown key 'step'") != std::string::npos);
  CHECK(said("momentum=0.9").find("write {from: ") != std::string::npos);
  CHECK(said("momentum=[0.9]").find("at least two") != std::string::npos);
}

TEST_CASE("who may race") {
  Race race;
  race.entrants = entrants_of_schemes("ssgd");
  CHECK(refusal([&] { check_entrants(race); }).find("a race needs at least two entrants") != std::string::npos);
  race.entrants = entrants_of_schemes("asgd,{kind: asgd, staleness: inverse}");
  CHECK(refusal([&] { check_entrants(race); }).find("'asgd' is there twice") != std::string::npos);
  race.entrants = entrants_of_schemes("asgd,ssgd");
  CHECK(refusal([&] { check_entrants(race); }).empty());
  race.tuning = tuning_of({"momentum"}, 2);
  race.more = {"training.optimizer.momentum=0.5"};
  CHECK(refusal([&] { check_entrants(race); }).find("is tuned") != std::string::npos);
}
