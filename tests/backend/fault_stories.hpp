// Every registered scheme in its variants, on a cluster where faults strike; random faults.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/schemes/scheme.hpp"

namespace straggler::test {

struct Variant {
  std::string scheme, name, on_failure;
  bool one_worker = false, by_server = false, synchronous = false, one_process = false;
};

/// Every scheme with each choice of each of its parameters, times each on_failure.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    std::vector<std::string> choices;
    std::set<std::string> options = {""};
    for (const Parameter& parameter : entry.parameters) {
      if (parameter.name == "on_failure") {
        choices = parameter.choices;
        continue;
      }
      if (parameter.name == "momentum_at_sync" || parameter.name == "staleness") continue;  // do not change what happens when
      for (const std::string& choice : parameter.choices)
        if (choice != parameter.fallback) options.insert(", " + parameter.name + ": " + choice);
    }
    REQUIRE_FALSE(choices.empty());
    for (const std::string& on_failure : choices) {
      for (const std::string& option : options) {
        Variant variant;
        variant.scheme = "{kind: " + entry.name + option + (entry.name == "local_sgd" ? ", steps: 2" : "") +
                         (entry.name == "nonblocking" ? ", minibatch: 10" : "") + ", on_failure: " + on_failure + "}";
        variant.name = entry.name;
        variant.on_failure = on_failure;
        variant.one_worker = entry.only_workers.has_value();
        variant.by_server = option == ", via: server" || (entry.name != "ssgd" && entry.name != "local_sgd" && !variant.one_worker);
        variant.synchronous = entry.name != "asgd";
        variant.one_process = entry.one_process;
        all.push_back(variant);
      }
    }
  }
  return all;
}

/// Uneven workers; a message takes as long as a computation, so that a fault may strike in either.
inline std::string text(const Variant& variant) {
  return R"(straggler: 1
name: faults
seed: 5
devices:
  node:
    compute: {affine: {overhead: 1ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 3}
    update: 100MB/s
cluster:
  workers: )" +
         std::string(variant.one_worker ? "[{count: 1, device: node}]"
                                        : "[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]") +
         R"(
  servers: {count: 1, update: 50MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 1ms}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 400, test_samples: 100}
  cost: {bytes: 100000B}
training:
  scheme: )" +
         variant.scheme + R"(
  batch: {per_worker: 40}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {updates: 12, simulated_time: 5s}
)";
}

struct Story {
  std::string faults;
  bool for_good = false;  // some worker crashes and does not restart
  bool nobody_left = false;
  bool crash = true;
};

/// Where one process drives all workers, none can join or leave.
inline bool refuses(const Variant& variant, const std::string& faults) {
  return variant.one_process && (faults.find("join") != std::string::npos || faults.find("leave") != std::string::npos);
}

/// Every worker of four has a random life.
inline Story random_story(std::uint64_t draw, const Variant& variant) {
  RandomStream random(draw, variant.scheme, 0);
  Story story;
  story.nobody_left = true;
  story.crash = false;
  const auto add = [&](const std::string& fault) { story.faults += (story.faults.empty() ? "" : ", ") + fault; };
  const auto us = [](double seconds) { return std::to_string(static_cast<std::int64_t>(seconds * 1e6)) + "us"; };
  for (int worker = 0; worker < 4; ++worker) {
    double at = 0;
    bool gone = false;
    const std::string who = "worker: " + std::to_string(worker);
    if (random.uniform() < 0.25) add("{kind: join, " + who + ", at: " + us(at = 0.2 * random.uniform()) + "}");
    while (random.uniform() < 0.5) {
      at += 1e-4 + 0.15 * random.uniform();
      const double down = 1e-4 + (random.uniform() < 0.5 ? 0.01 : 0.2) * random.uniform();
      gone = random.uniform() < 0.15;
      add("{kind: crash, " + who + ", at: " + us(at) + (gone ? "" : ", restart_after: " + us(down)) + "}");
      story.crash = true;
      at += down;
      if (gone) break;
    }
    story.for_good = story.for_good || gone;
    if (!gone && random.uniform() < 0.2) {
      add("{kind: leave, " + who + ", at: " + us(at += 1e-3 + 0.1 * random.uniform()) + "}");
      gone = true;
    }
    if (random.uniform() < 0.3)
      add("{kind: slow, " + who + ", from: " + us(0.1 * random.uniform()) + ", to: " + us(0.11 + 0.2 * random.uniform()) +
          ", times_slower: 3}");
    if (random.uniform() < 0.3)
      add("{kind: link, " + who + ", from: " + us(0.1 * random.uniform()) + ", to: " + us(0.11 + 0.2 * random.uniform()) +
          ", bandwidth_factor: " + (random.uniform() < 0.5 ? "0" : "0.3") + "}");
    story.nobody_left = story.nobody_left && gone;
  }
  return story;
}

}  // namespace straggler::test
