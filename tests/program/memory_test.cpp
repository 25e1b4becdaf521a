// What `straggler check` estimates of memory, against what runs take, within a factor of 1.5: for every scheme and way of exchange in
// tools/check_long, and otherwise for four schemes.
// Not where branches are counted: the counters take memory.
#ifndef STRAGGLER_COVERAGE
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "tests/program/workplace.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scenarios.hpp"

namespace memory_test {

using straggler::test::equal_workers;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

/// Parts of 20 samples; weights of 2.8 MB where the math runs.
const std::string scenario =
    scenario_text({.name = "memory",
                   .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}, jitter: {kind: gamma, shape: 3}}",
                   .workers = equal_workers(2),
                   .network = "{link: {bandwidth: 1Gbps, latency: 1ms}}",
                   .model = "{kind: mlp, hidden: [1000, 700]}",
                   .data = "{kind: coordinates, samples: 40, test_samples: 100}",
                   .scheme = "{kind: asgd}",
                   .batch = "{per_worker: 5}",
                   .optimizer = "{kind: sgd, learning_rate: 0.05, momentum: 0.9}",
                   .stop = "{updates: 40}"});

/// As a scenario writes it: "{kind: local_sgd, steps: 3}", "{kind: post_local_sgd, start: {epochs: 2}}".
std::string text_of(const std::string& name, const nlohmann::json& parameters) {
  std::string text = "{kind: " + name;
  std::map<std::string, std::string> maps;
  for (const auto& [key, value] : parameters.items()) {
    const std::size_t dot = key.find('.');
    std::string& to = dot == std::string::npos ? text : maps[key.substr(0, dot)];
    to += ", " + key.substr(dot == std::string::npos ? 0 : dot + 1) + ": " + value.get<std::string>();
  }
  for (const auto& [key, inside] : maps) text += ", " + key + ": {" + inside.substr(2) + "}";
  return text + "}";
}

/// "about 47.3 MB with the math, 12 MB for timing alone".
double megabytes(const std::string& text, const std::string& before, const std::string& behind) {
  const std::size_t end = text.find(behind), begin = text.rfind(before, end) + before.size();
  REQUIRE_MESSAGE(end != std::string::npos, text);
  const std::string number = text.substr(begin, end - begin);
  REQUIRE_MESSAGE(number.ends_with(" MB"), number);
  return std::stod(number);
}

void check_estimate(const Workplace& place, const std::string& scheme, int workers, bool math, const std::string& compression = "none",
                    bool one_host = false, int updates = 40) {
  CAPTURE(scheme);
  CAPTURE(compression);
  CAPTURE(workers);
  CAPTURE(math);
  std::string settings = " --set \"training.scheme=" + scheme + "\" --set \"cluster.workers=[{count: " + std::to_string(workers) +
                         ", device: node}]\" --set workload.data.samples=" + std::to_string(20 * workers) +
                         " --set training.compression=" + compression;
  if (one_host)
    settings += " --set cluster.workers[0].per_host=" + std::to_string(workers) +
                " --set \"cluster.network.intra={bandwidth: 10GB/s, latency: 1us}\"";
  // Learners behind a quorum never stop: on a slow link they would compute on while thousands of changes queue before the server.
  if (!math && scheme.find("quorum") != std::string::npos) settings += " --set cluster.network.link.bandwidth=1000GB/s";
  settings += math ? " --set training.stop.updates=" + std::to_string(updates) : " --timing-only --set training.stop.updates=3";
  const auto checked = place.shell("straggler check memory.yaml" + settings);
  REQUIRE_MESSAGE(checked.code == 0, checked.err);
  const double estimate = math ? megabytes(checked.out, "about ", " with the math") : megabytes(checked.out, ", ", " for timing alone");
  const auto ran = place.shell("straggler run memory.yaml --force --threads 1 --out r" + settings);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const double used = nlohmann::json::parse(place.read("r/run.json"))["peak_memory_bytes"].get<double>() / 1e6;
  CAPTURE(used);
  CHECK(estimate < 1.5 * used);
  CHECK(estimate > used / 1.5);
}

}  // namespace

TEST_CASE("check estimates the memory of every scheme, with the math and for timing alone") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  const std::set<std::string> short_list = {"ssgd", "asgd", "scaffold", "partial_all_reduce"};
  for (const auto& scheme : nlohmann::json::parse(place.shell("straggler list schemes --json").out)) {
    if (!straggler::test::check_long && !short_list.contains(scheme["name"])) continue;
    const bool alone = !scheme["workers"].is_null();
    const int updates = scheme["asynchronous"] == false ? 6 : 40;  // one by one, or of all workers
    std::set<std::string> ways;                                    // of exchange: other parameters change little
    for (const auto& variant : scheme["variants"]) {
      // Sums of local gradients with momentum keep what nobody looks at: known, and not estimated.
      if (variant["parameters"].value("exchange", "") == "gradients") continue;
      if (!ways.insert(variant["exchange"]).second) continue;
      const std::string text = text_of(scheme["name"], variant["parameters"]);
      const bool one_host = scheme["one_host"];
      for (const int workers : {1, 16})
        if (alone == (workers == 1)) check_estimate(place, text, workers, true, "none", one_host, updates);
      const int many = scheme["name"] == "partial_all_reduce" ? 500 : 10'000;  // its workers send p² messages an update
      if (!alone) check_estimate(place, text, many, false, "none", one_host);
    }
  }
}

TEST_CASE("check estimates what compressed messages and their error feedback take") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  for (const char* scheme : {"asgd", "ssgd"}) {
    check_estimate(place, scheme, 16, true, "top_k");
    check_estimate(place, scheme, 20'000, false, "top_k");
    if (!straggler::test::check_long) break;
  }
  for (const char* scheme : {"{kind: local_sgd, steps: 2}", "{kind: easgd, period: 1}"}) {
    check_estimate(place, scheme, 16, true, "top_k");
    check_estimate(place, scheme, 10'000, false, "top_k");
    if (!straggler::test::check_long) break;
  }
}

namespace {

/// Of a run for timing alone, of 20 rounds of 100 clients each.
double peak_bytes(const Workplace& place, const std::string& scheme, int workers, const std::string& more = "") {
  const auto ran = place.shell("straggler run memory.yaml --force --threads 1 --timing-only --out r --set \"training.scheme=" + scheme +
                               "\" --set \"cluster.workers=[{count: " + std::to_string(workers) +
                               ", device: node}]\" --set workload.data.samples=" + std::to_string(20 * workers) +
                               " --set training.stop.updates=20" + more);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  return nlohmann::json::parse(place.read("r/run.json"))["peak_memory_bytes"].get<double>();
}

}  // namespace

TEST_CASE("a client that is never invited takes 400 bytes at most") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  const int few = 10'000, many = 210'000;
  for (const char* kind : {"fedavg", "scaffold"}) {
    CAPTURE(kind);
    const std::string scheme = std::string("{kind: ") + kind + ", clients: 100, local_steps: 2}";
    for (const char* faults : {"", " --set \"cluster.faults=[{kind: crash, worker: 7, at: 20ms, restart_after: 30ms}]\""}) {
      CAPTURE(faults);
      const double each = (peak_bytes(place, scheme, many, faults) - peak_bytes(place, scheme, few, faults)) / (many - few);
      CHECK(each < 400);
    }
  }
}

TEST_CASE("--memory bounds a run with its data, and refuses data that do not fit before they are read") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  // 101,000 samples of 100 floats with a label, 10,000 of them twice, and three orders of 100,000: 4 * 101 * 111,000 + 12 * 100,000.
  const std::string settings =
      " --set \"workload.data={kind: gaussian, samples: 100000, test_samples: 1000, features: 100, classes: 10}\" --threads 1 --force "
      "--out r";
  const auto refused = place.shell("straggler run memory.yaml --memory 50MB" + settings);
  CHECK(refused.code == 3);
  CHECK_MESSAGE(refused.err.find("the data take 46.1 MB and the simulation 12.") != std::string::npos, refused.err);
  // Without a budget it takes more: 2.8 MB for each worker's weights, and more to compute.
  const auto ran = place.shell("straggler run memory.yaml --memory 110MB" + settings);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(nlohmann::json::parse(place.read("r/run.json"))["peak_memory_bytes"].get<double>() < 110e6);
}

TEST_CASE("--memory bounds what reading images takes, too") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  const std::string workload = " --set workload.data=fashion_mnist --set workload.model=softmax --set training.stop.updates=2",
                    settings = workload + " --threads 2 --force --out r";
  // 70,000 images of 784 bytes with a label, three orders of 60,000, and a copy of the training images that evaluations take. While they
  // are read, the compressed files are there as well.
  const double samples = 788.0 * 70'000 + 12.0 * 60'000, packed = 26'421'856 + 4'422'079;
  CHECK(samples == doctest::Approx(55.9e6).epsilon(0.001));
  CHECK(samples + 788.0 * 50'000 == doctest::Approx(95.3e6).epsilon(0.001));
  CHECK(samples + packed == doctest::Approx(86.7e6).epsilon(0.001));
  const auto checked = place.shell("straggler check memory.yaml" + workload + " --set training.evaluate.train_samples=10");
  REQUIRE_MESSAGE(checked.code == 0, checked.err);
  CHECK(megabytes(checked.out, "about ", " with the math") == doctest::Approx((samples + packed + 12e6) / 1e6).epsilon(0.01));
  const auto run = [&](const char* budget, const char* evaluated) {
    return place.shell(std::string("straggler run memory.yaml --memory ") + budget + settings + evaluated);
  };
  const auto refused = run("100MB", " --set training.evaluate.train_samples=50000");
  CHECK(refused.code == 3);
  CHECK_MESSAGE(refused.err.find("the data take 95.3 MB and") != std::string::npos, refused.err);
  const auto while_read = run("98MB", " --set training.evaluate.train_samples=10");
  CHECK_MESSAGE(while_read.err.find("the data take 55.9 MB (86.8 MB while they are read)") != std::string::npos, while_read.err);
  for (const auto& [budget, most, evaluated] : {std::tuple("118MB", 118e6, " --set training.evaluate.train_samples=50000"),
                                                std::tuple("102MB", 102e6, " --set training.evaluate.train_samples=10")}) {
    const auto ran = run(budget, evaluated);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK(nlohmann::json::parse(place.read("r/run.json"))["peak_memory_bytes"].get<double>() < most);
  }
}

TEST_CASE("--memory counts whole files of images, also of a run that takes a few of them") {
  const Workplace place;
  place.write("memory.yaml", scenario);
  const std::string settings =
      " --set \"workload.data={kind: fashion_mnist, train_limit: 100, test_limit: 100}\" --set workload.model=softmax "
      "--set training.stop.updates=2 --threads 2 --force --out r";
  // All images are unpacked beside the compressed files, before the first of 200 is copied.
  const double packed = 26'421'856 + 4'422'079, reading = 784.0 * 70'000 + packed - 784.0 * 200;
  CHECK(reading == doctest::Approx(85.6e6).epsilon(0.001));
  const auto refused = place.shell("straggler run memory.yaml --memory 95MB" + settings);
  CHECK(refused.code == 3);
  CHECK_MESSAGE(refused.err.find("MB while they are read)") != std::string::npos, refused.err);
  const auto ran = place.shell("straggler run memory.yaml --memory 105MB" + settings);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(nlohmann::json::parse(place.read("r/run.json"))["peak_memory_bytes"].get<double>() < 105e6);
}

}  // namespace memory_test
#endif
