// List B: the same machines, but something else is learned.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/advise/remedy.hpp"
#include "scenarios/experiment/alone.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr const char* model_parallel = "parts of the model are on other ranks (all-to-all), which every step and every sample needs";

constexpr const char* grows_unknown = "how a step grows with the batch is not in a log of one batch: it is assumed to be in proportion";

bool is_synchronous(const AdvisedJob& job) { return job.scenario.training.scheme.name == "ssgd"; }

std::string why_not_synchronous(const AdvisedJob& job) {
  if (job.facts && job.facts->all_to_all) return model_parallel;
  if (job.scenario.workers() < 2) return "one worker waits for nobody";
  return is_synchronous(job) ? std::string() : job.scenario.training.scheme.name + " is not synchronous SGD";
}

/// The same where workers need all weights between updates.
std::string why_not_own_weights(const AdvisedJob& job) {
  if (job.facts && job.facts->sharded) return "weights are sharded: no rank has all of its own";
  return why_not_synchronous(job);
}

/// Where all-reduces were measured, servers are reached over links that are assumed.
std::string server_note(const AdvisedJob& job) {
  return has_given_times(job) ? "messages to a server take what the link of the scenario says, which is assumed" : "";
}

/// Every worker's batch, times a factor.
std::vector<std::string> larger_batches(const AdvisedJob& job, std::int64_t factor) {
  const BatchSpec& batch = job.scenario.training.batch;
  std::vector<std::string> sets;
  if (batch.global)
    sets.push_back(fmt::format("training.batch.global={}", factor * *batch.global));
  else if (batch.per_worker)
    sets.push_back(fmt::format("training.batch.per_worker={}", factor * *batch.per_worker));
  for (std::size_t g = 0; g < job.scenario.cluster.workers.size(); ++g)
    if (const std::optional<std::int64_t>& own = job.scenario.cluster.workers[g].batch)
      sets.push_back(fmt::format("{}.batch={}", group_path(g), factor * *own));
  return sets;
}

/// Why the files do not say how long a batch of so many times the samples takes: the host's time was measured, whatever the batch. It
/// covers the GPU's up to some batch. Empty: they do.
std::string why_unknown(const AdvisedJob& job, std::int64_t factor) {
  if (job.facts && job.facts->all_to_all) return model_parallel;
  const ComputeSpec& compute = job.scenario.devices.at(job.scenario.cluster.workers.front().device).compute;
  if (job.facts && job.facts->log && compute.overhead == 0) return grows_unknown;
  if (!job.facts || compute.per_sample > 0 || compute.form != ComputeSpec::Form::affine) return {};
  if (!job.facts->gpu_computing) return "how the host's time grows with the batch is not in the trace; import one of another batch";
  if (static_cast<double>(factor) * *job.facts->gpu_computing <= compute.overhead) return {};
  return "the GPU would compute longer than the host needs, and the trace has no time for that";
}

Attempts batch(const AdvisedJob& job) {
  Attempts out;
  for (const std::int64_t factor : {2, 4}) {
    std::string why = why_unknown(job, factor);
    if (why.empty())
      out.all.push_back({.setting = fmt::format("x{}", factor), .sets = larger_batches(job, factor), .batch_factor = factor});
    else if (out.all.empty())
      return left_out(std::move(why));
  }
  return out;
}

Attempts accumulate(const AdvisedJob& job) {
  if (job.facts && job.facts->all_to_all) return left_out(model_parallel);
  if (job.facts && job.facts->log) return left_out("what the ranks exchange is not in a log, and it is that which accumulation saves");
  Attempts out;
  for (const std::int64_t factor : {2, 4}) {
    Attempt attempt{.setting = fmt::format("x{} in {} micro-batches", factor, factor * job.scenario.training.batch.accumulate),
                    .sets = larger_batches(job, factor),
                    .batch_factor = factor};
    attempt.sets.push_back(fmt::format("training.batch.accumulate={}", factor * job.scenario.training.batch.accumulate));
    out.all.push_back(std::move(attempt));
  }
  return out;
}

Attempts unequal_batches(const AdvisedJob& job) {
  if (std::string why = why_not_synchronous(job); !why.empty()) return left_out(std::move(why));
  const BatchSpec& batch = job.scenario.training.batch;
  if (batch.split == BatchSpec::Split::by_speed) return left_out("batches follow speeds already");
  if (job.blueprint.plan.batches.are_stated()) return left_out("batches of groups are stated one by one");
  const std::vector<double> alone = seconds_alone(job.scenario, job.blueprint);
  const auto [least, most] = std::ranges::minmax(alone);
  if (most < 1.01 * least) return left_out("workers are equally fast");
  const std::int64_t global = batch.global.value_or(job.blueprint.plan.batches.total(job.blueprint.plan.workers));
  std::string value = fmt::format("{{global: {}, split: by_speed", global);
  if (batch.accumulate > 1) value += fmt::format(", accumulate: {}", batch.accumulate);
  if (batch.drop_last) value += ", drop_last: true";
  return {{{.setting = "by speed",
            .sets = {"training.batch=" + value + "}"},
            .note = "of no use against a delay that does not grow with the batch"}}};
}

Attempts wait_for_k(const AdvisedJob& job) {
  if (std::string why = why_not_own_weights(job); !why.empty()) return left_out(std::move(why));
  const std::vector<double> alone = seconds_alone(job.scenario, job.blueprint);
  std::vector<double> order = alone;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle);
  const double usual = *middle;
  const std::int64_t workers = job.scenario.workers(),
                     slow = std::ranges::count_if(alone, [&](double each) { return each > 1.01 * usual; });
  Attempts out;
  for (const std::int64_t dropped : {std::int64_t{1}, slow}) {
    if (dropped < 1 || dropped >= workers || (dropped == 1 && !out.all.empty())) continue;
    Attempt attempt{fmt::format("{} of {}", workers - dropped, workers),
                    {fmt::format("training.scheme={{kind: k_sync, k: {}}}", workers - dropped)}};
    add_server(job, attempt.sets);
    attempt.note = server_note(job);
    out.all.push_back(std::move(attempt));
  }
  return out;
}

Attempts local_steps(const AdvisedJob& job) {
  if (std::string why = why_not_own_weights(job); !why.empty()) return left_out(std::move(why));
  Attempts out;
  for (const int steps : {4, 16})
    out.all.push_back({fmt::format("{}", steps), {fmt::format("training.scheme={{kind: local_sgd, steps: {}}}", steps)}});
  return out;
}

Attempts asynchronous(const AdvisedJob& job) {
  if (std::string why = why_not_own_weights(job); !why.empty()) return left_out(std::move(why));
  Attempt attempt{"asgd", {"training.scheme=asgd"}};
  add_server(job, attempt.sets);
  attempt.note = server_note(job);
  return {{std::move(attempt)}};
}

Attempts compress(const AdvisedJob& job) {
  if (std::string why = why_no_messages(job); !why.empty()) return left_out(std::move(why));
  if (job.scenario.training.compression.name != "none") return left_out("messages are compressed already");
  Attempts out;
  for (const char* const way : {"int8", "powersgd", "top_k"}) out.all.push_back({way, {fmt::format("training.compression={}", way)}});
  return out;
}

}  // namespace

std::vector<Remedy> other_learning_remedies() {
  constexpr RemedyList list = RemedyList::other_learning;
  return {{list, "batch", "fewer updates for as many samples, each on a better gradient", false, batch},
          {list, "accumulate", "fewer updates for as many samples, each on a better gradient", false, accumulate},
          {list, "unequal_batches", "slow workers see fewer samples: another objective, where their parts of the data do not follow", false,
           unequal_batches},
          {list, "wait_for_k", "updates leave out the slowest workers' samples", false, wait_for_k},
          {list, "local_steps", "workers' weights drift apart between averages", false, local_steps},
          {list, "asynchronous", "gradients are taken at older weights (staleness)", false, asynchronous},
          {list, "compress", "gradients lose small parts, which error feedback sends later", false, compress}};
}

}  // namespace straggler
