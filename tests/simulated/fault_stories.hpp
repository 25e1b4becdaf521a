// Every registered scheme in its variants, on a cluster where faults strike; random faults.
#pragma once
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

/// How many random stories are drawn for each variant, and one in how many moments is tried: all of them by tools/check_long, fewer under
/// sanitizers.
inline const std::uint64_t draws = check_long ? 60 : sanitized ? 1 : 3;
inline const int one_moment_in = check_long ? 1 : sanitized ? 9 : 4;

struct Variant {
  std::string scheme, on_failure;
  bool one_worker = false, all_reduce = false, by_server = false, synchronous = false, one_process = false, answers_hold_own = false;
  bool one_host = false;
};

/// Every variant of every scheme, times each on_failure.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchemeVariant& each : all_scheme_variants()) {
    REQUIRE_FALSE(failure_choices(*each.entry).empty());
    for (const std::string& on_failure : failure_choices(*each.entry)) {
      ParameterTexts given = each.given;
      given["on_failure"] = on_failure;
      all.push_back({variant_of(*each.entry, given).text(), on_failure, each.entry->only_workers.has_value(),
                     each.exchange() == Exchange::all_reduce, each.exchange() == Exchange::server, !each.asynchronous(),
                     each.entry->one_process, each.entry->answers_hold_own && each.exchange() != Exchange::all_reduce, each.one_host()});
    }
  }
  return one_in(sanitized ? 3 : 1, all);  // under sanitizers each is in a third of the cases
}

/// Uneven workers; a message, or a way to a host's memory, takes as long as a computation, so that a fault may strike in either.
inline std::string text(const Variant& variant) {
  return scenario_text({.name = "faults",
                        .seed = 5,
                        .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.3ms}}, jitter: {kind: gamma, shape: 3}, update: 100MB/s}",
                        .workers = variant.one_worker ? "[{count: 1, device: node}]"
                                   : variant.one_host
                                       ? "[{count: 3, device: node, per_host: 4}, {count: 1, device: node, slowdown: 2, same_host: true}]"
                                       : "[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]",
                        .servers = std::string("{count: ") + (variant.by_server ? "1" : "0") + ", update: 50MB/s, per_message: 20us}",
                        .network = std::string("{link: {bandwidth: 100Mbps, latency: 1ms}") +
                                   (variant.one_host ? ", intra: {bandwidth: 100Mbps, latency: 1ms}" : "") + "}",
                        .data = "{kind: coordinates, samples: 400, test_samples: 100}",
                        .cost = "{bytes: 100000B}",
                        .scheme = variant.scheme,
                        .batch = "{per_worker: 40}",
                        .optimizer = "{kind: sgd, learning_rate: 0.05, momentum: 0.9}",
                        .stop = "{updates: 12, simulated_time: 20s}"});
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

/// Every worker, of four or one, has a random life.
inline Story random_story(std::uint64_t draw, const Variant& variant) {
  RandomStream random(draw, variant.scheme, 0);
  Story story;
  story.nobody_left = true;
  story.crash = false;
  const auto add = [&](const std::string& fault) { story.faults += (story.faults.empty() ? "" : ", ") + fault; };
  const auto us = [](double seconds) { return std::to_string(static_cast<std::int64_t>(seconds * 1e6)) + "us"; };
  for (int worker = 0; worker < (variant.one_worker ? 1 : 4); ++worker) {
    double at = 0;
    bool gone = false;
    const std::string who = "worker: " + std::to_string(worker);
    if (random.uniform() < 0.25 && !variant.one_process) add("{kind: join, " + who + ", at: " + us(at = 0.2 * random.uniform()) + "}");
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
    if (!gone && random.uniform() < 0.2 && !variant.one_process) {
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
