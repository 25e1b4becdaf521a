// List A: the same machines, and the same learning.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scenarios/advise/remedy.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/explanation.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

const CollectiveSpec& collective(const AdvisedJob& job) { return job.scenario.cluster.network.collective; }

Attempts overlap(const AdvisedJob& job) {
  if (std::string why = why_no_all_reduce(job); !why.empty()) return left_out(std::move(why));
  if (collective(job).overlap) return left_out("buckets leave during backward already");
  return {{{"on", {"cluster.network.collective.overlap=true"}}}};
}

Attempts bucket(const AdvisedJob& job) {
  constexpr double mebi = 1 << 20;
  if (std::string why = why_no_all_reduce(job); !why.empty()) return left_out(std::move(why));
  const CollectiveSpec& spec = collective(job);
  if (spec.merge != CollectiveSpec::Merge::size) return left_out("gradients are merged by time, not by size");
  if (!spec.bucket) return left_out("gradients leave in one piece after backward; overlap comes first");
  Attempts out;
  for (const int size : {1, 2, 5, 10, 25, 50, 100}) {
    const double bytes = size * mebi;
    if (bytes != *spec.bucket)
      out.all.push_back({fmt::format("{} MiB", size), {fmt::format("cluster.network.collective.bucket={}MiB", size)}});
    if (bytes >= static_cast<double>(job.blueprint.model_bytes)) break;  // one bucket holds all
  }
  return out;
}

constexpr const char* two_levels = "hierarchical";

Attempts algorithm(const AdvisedJob& job) {
  constexpr std::size_t most = 3;
  if (std::string why = why_no_all_reduce(job); !why.empty()) return left_out(std::move(why));
  if (job.blueprint.gathers()) return left_out("compressed gradients are gathered around a ring");
  Attempts out;
  for (const CollectiveTime& each : job.blueprint.collective_times(job.scenario))
    if (each.name != job.blueprint.all_reduce->name && each.name != two_levels && out.all.size() < most)
      out.all.push_back({each.name, {"cluster.network.collective.algorithm=" + each.name}});
  return out.all.empty() ? left_out("no other algorithm fits") : out;
}

Attempts hierarchical(const AdvisedJob& job) {
  if (std::string why = why_no_all_reduce(job); !why.empty()) return left_out(std::move(why));
  if (job.blueprint.gathers()) return left_out("compressed gradients are gathered around a ring");
  if (job.blueprint.all_reduce->name == two_levels) return left_out("the all-reduce has two levels already");
  const CollectiveEntry& entry = Registry<CollectiveEntry>::instance().at(two_levels);
  if (const std::string lacks = entry.unfit(job.blueprint.shape); !lacks.empty()) return left_out(std::string(two_levels) + " " + lacks);
  return {{{"on", {fmt::format("cluster.network.collective.algorithm={}", two_levels)}}}};
}

/// Devices whose loaders take longer for a batch than computing does: what they have, and what they need.
struct BusyLoader {
  std::int64_t has = 0, needs = 0;
  double share = 0;  // of computing: how long a batch takes one process
};

std::map<std::string, BusyLoader> busy_loaders(const AdvisedJob& job) {
  std::map<std::string, BusyLoader> busy;
  for (std::size_t g = 0; g < job.scenario.cluster.workers.size(); ++g) {
    const std::string& name = job.scenario.cluster.workers[g].device;
    const std::optional<LoaderSpec>& loader = job.scenario.devices.at(name).loader;
    if (!loader || !(loader->per_sample > 0)) continue;
    const Rank first = job.blueprint.first_of_group[g];
    const double batch = loader->per_sample * static_cast<double>(job.blueprint.plan.batches.usual(first));
    const double computing = job.blueprint.batch_seconds(job.scenario, first);
    constexpr double most = 1024;
    const auto needs = static_cast<std::int64_t>(computing > 0 ? std::clamp(std::ceil(batch / computing), 1.0, most) : most);
    if (needs <= loader->workers) continue;
    BusyLoader& one = busy[name];
    one = {loader->workers, std::max(one.needs, needs), std::max(one.share, computing > 0 ? batch / computing : most)};
  }
  return busy;
}

/// "ranks 144 to 147" of the files, if they alone wait for data; empty: all do, or the job is not imported.
std::string ranks_that_wait(const AdvisedJob& job, const std::map<std::string, BusyLoader>& busy) {
  constexpr double little = 0.01;
  if (!job.facts || static_cast<std::int64_t>(job.facts->called.size()) != job.scenario.workers()) return {};
  std::vector<std::int64_t> ranks;
  std::vector<std::string> names;
  std::size_t worker = 0;
  for (const WorkerGroup& group : job.scenario.cluster.workers)
    for (std::int64_t i = 0; i < group.count; ++i, ++worker)
      if (const auto found = busy.find(group.device); found != busy.end() && found->second.share > little)
        ranks.push_back(job.facts->called[worker]);
  if (ranks.empty() || ranks.size() == worker) return {};
  if (ranks.size() > 1 && ranks.back() - ranks.front() + 1 == static_cast<std::int64_t>(ranks.size()))
    return fmt::format("ranks {} to {} (neighbours)", ranks.front(), ranks.back());
  for (const std::int64_t rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + listed(names);
}

Attempts loaders(const AdvisedJob& job) {
  const bool any = std::ranges::any_of(job.scenario.cluster.workers, [&](const WorkerGroup& group) {
    const std::optional<LoaderSpec>& loader = job.scenario.devices.at(group.device).loader;
    return loader && loader->per_sample > 0;
  });
  if (!any) return left_out("batches are there at once");
  const std::map<std::string, BusyLoader> busy = busy_loaders(job);
  constexpr double binds = 0.05;
  if (job.facts && job.facts->log && job.facts->waits_for_data.value_or(0) >= binds)
    return left_out("a log tells how long is waited for data, not what for: look at storage, at processes, and at a deeper prefetch");
  if (busy.empty()) return left_out("loaders prepare a batch faster than it is computed");
  Attempt twice, enough;
  std::set<std::int64_t> doubled, needed;
  for (const auto& [name, loader] : busy) {
    const auto set = [&](std::int64_t count) { return fmt::format("devices.{}.loader.workers={}", name, count); };
    const std::int64_t more = std::min(std::max<std::int64_t>(2 * loader.has, 1), loader.needs);
    twice.sets.push_back(set(more));
    enough.sets.push_back(set(loader.needs));
    doubled.insert(more);
    needed.insert(loader.needs);
  }
  const auto said = [](const std::set<std::int64_t>& counts) {
    if (counts.size() > 1) return fmt::format("{} to {} processes", *counts.begin(), *counts.rbegin());
    return fmt::format("{} {}", *counts.begin(), *counts.begin() == 1 ? "process" : "processes");
  };
  enough.setting = said(needed);
  enough.note = "as many as it takes to prepare a batch while one is computed";
  if (const std::string few = ranks_that_wait(job, busy); !few.empty()) {
    enough.note += fmt::format("; only {} wait{} for data: look at the storage and loader there first, which more processes do not mend",
                               few, few.starts_with("rank ") ? "s" : "");
    if (job.facts->steps == 1) enough.note += "; one step was measured: a single stall is hidden by a prefetch that is deeper than it";
  }
  twice.setting = said(doubled);
  Attempts out{{enough}};
  if (twice.sets != enough.sets) out.all.push_back(twice);
  return out;
}

/// Groups whose workers compute longer than the median one, or send over a narrower link, the slowest first. Loaders are another remedy.
class SlowGroups {
 public:
  explicit SlowGroups(const AdvisedJob& job) : job_(job), median_(median_worker(job.scenario, job.blueprint)) {
    const std::vector<WorkerGroup>& groups = job.scenario.cluster.workers;
    const double usual = seconds(median_.group);
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (g != median_.group && groups[g].rows.empty() && (seconds(g) > 1.01 * usual || !as_wide(link(g), link(median_.group))))
        slow.push_back(g);
    std::ranges::stable_sort(slow, [&](std::size_t a, std::size_t b) { return seconds(a) > seconds(b); });
  }
  /// Of as many samples for all.
  double seconds(std::size_t g) const {
    return job_.blueprint.batch_seconds(job_.scenario, job_.blueprint.first_of_group[g], job_.blueprint.plan.batches.typical());
  }
  const LinkSpec& link(std::size_t g) const { return link_of(job_.scenario.cluster, job_.scenario.cluster.workers[g], 0); }
  std::size_t median() const { return median_.group; }

  /// The group's workers become like the median one.
  std::vector<std::string> replaced(std::size_t g) const {
    const std::vector<WorkerGroup>& groups = job_.scenario.cluster.workers;
    const WorkerGroup &group = groups[g], &like = groups[median_.group];
    const DeviceRow* const row = row_of(like, median_.number);
    const std::string path = group_path(g);
    std::vector<std::string> sets;
    if (group.device != like.device) sets.push_back(path + ".device=" + like.device);
    const double slowdown = like.slowdown * (row ? row->slowdown : 1);
    if (group.slowdown != slowdown) sets.push_back(fmt::format("{}.slowdown={}", path, format_number(slowdown)));
    if (group.link && !as_wide(*group.link, link(median_.group)))
      for (std::string& set : like_link(path + ".link", link(median_.group))) sets.push_back(std::move(set));
    return sets;
  }
  /// One worker of the group joins the median's; empty: hosts are shared, or the group has no other worker.
  std::vector<std::string> one_replaced(std::size_t g) const {
    const std::vector<WorkerGroup>& groups = job_.scenario.cluster.workers;
    const WorkerGroup &group = groups[g], &like = groups[median_.group];
    if (group.count < 2 || group.per_host > 1 || like.per_host > 1 || !like.rows.empty()) return {};
    return {fmt::format("{}.count={}", group_path(g), group.count - 1),
            fmt::format("{}.count={}", group_path(median_.group), like.count + 1)};
  }

  std::vector<std::size_t> slow;

 private:
  const AdvisedJob& job_;
  Seat median_;
};

void add_repairs(const AdvisedJob& job, const WorkerNames& names, Attempts& out) {
  const std::vector<FaultSpec>& faults = job.scenario.cluster.faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const FaultSpec& fault = faults[i];
    const std::string path = fmt::format("cluster.faults[{}]", i);
    if (fault.kind == FaultSpec::Kind::slow) out.all.push_back({names.worker(fault.worker) + ", repaired", {path + ".times_slower=1"}});
    if (fault.kind != FaultSpec::Kind::link) continue;
    const std::string whose = fault.worker >= 0   ? fmt::format("the link of worker {}", fault.worker)
                              : fault.server >= 0 ? fmt::format("the link of server {}", fault.server)
                                                  : "link " + fault.link;
    out.all.push_back({whose + ", repaired", {path + ".bandwidth_factor=1"}});
  }
}

/// Of a server that is slower than it must be.
void add_server_replacement(const AdvisedJob& job, Attempts& out) {
  if (job.blueprint.servers == 0) return;
  const ServerSpec& servers = job.scenario.cluster.servers;
  const LinkSpec& usual = job.scenario.cluster.network.link;
  Attempt attempt{servers.count == 1 ? "a server twice as fast" : "servers twice as fast"};
  if (servers.per_message > 0)
    attempt.sets.push_back("cluster.servers.per_message=" + format_quantity(servers.per_message / 2, Dimension::time));
  if (servers.update) attempt.sets.push_back("cluster.servers.update=" + format_quantity(2 * *servers.update, Dimension::rate));
  if (servers.link && !as_wide(*servers.link, usual)) {
    for (std::string& set : like_link("cluster.servers.link", usual)) attempt.sets.push_back(std::move(set));
    attempt.setting = servers.count == 1 ? "the server, by one with the network's link" : "servers, by ones with the network's link";
  }
  if (!attempt.sets.empty()) out.all.push_back(std::move(attempt));
}

/// What one rank's trace leaves open: times of its all-reduces hold its waiting for others.
void add_waiting_bound(const AdvisedJob& job, Attempts& out) {
  if (!job.facts || job.facts->ranks != 1 || !has_given_times(job)) return;
  Attempt bound{"the rank that is waited for"};
  bound.bound = without({Cause::collectives}, job.scenario, job.blueprint);
  bound.note =
      "at best, if all of the time in all-reduces is waiting: one rank's trace cannot tell it from transfer, or from a wrong setting; "
      "import "
      "the traces of the other ranks, too";
  out.all.push_back(std::move(bound));
}

/// The rank that the traces see coming last, where its own work is not the longest.
void add_late_rank(const AdvisedJob& job, std::int64_t slowest, Attempts& out) {
  if (!job.facts || !job.facts->last || !job.facts->step) return;
  const LastRank& last = *job.facts->last;
  if (last.rank == slowest || last.times == 0) return;
  Attempt late{fmt::format("rank {}", last.rank)};
  late.known_seconds = std::max(0.0, *job.facts->step - last.seconds);
  late.note =
      fmt::format("it comes last at {} of {} collectives, for what it did before: without that, the first ends {} earlier (next: rank {})",
                  last.times, last.of, readable_seconds(last.seconds), last.next);
  out.all.push_back(std::move(late));
}

Attempts replace_slow(const AdvisedJob& job) {
  const SlowGroups groups(job);
  const WorkerNames names(job.scenario);
  Attempts out;
  std::vector<std::string> all;
  std::vector<std::size_t> replaced;
  const bool exchanges_cannot_be_told = job.facts && job.facts->all_to_all;  // a late rank's cause is not in the scenario
  for (const std::size_t g : groups.slow) {
    if (exchanges_cannot_be_told) break;
    std::vector<std::string> sets = groups.replaced(g);
    if (sets.empty()) continue;
    replaced.push_back(g);
    std::ranges::copy(sets, std::back_inserter(all));
    if (replaced.size() > 1) continue;
    if (std::vector<std::string> one = groups.one_replaced(g); !one.empty()) {
      const Rank last = job.blueprint.first_of_group[g] + static_cast<Rank>(job.scenario.cluster.workers[g].count) - 1;
      out.all.push_back({names.worker(last), std::move(one)});
    }
    out.all.push_back({names.group(g), std::move(sets)});
  }
  if (replaced.size() > 1) out.all.push_back({"all slow workers: " + names.groups(replaced), std::move(all)});
  add_repairs(job, names, out);
  add_server_replacement(job, out);
  add_waiting_bound(job, out);
  add_late_rank(job, replaced.empty() ? -1 : job.blueprint.first_of_group[replaced.front()], out);
  if (!out.all.empty()) return out;
  const bool rows = std::ranges::any_of(job.scenario.cluster.workers, [](const WorkerGroup& group) { return !group.rows.empty(); });
  return left_out(rows ? "times of workers are rows of a population file, which --set does not change"
                       : "no worker computes longer than the others");
}

Attempt of_stage(std::int64_t stage) { return {fmt::format("stage {}", stage), {fmt::format("training.sharding.stage={}", stage)}}; }

/// More of the states, or those within each host.
Attempts shard(const AdvisedJob& job) {
  if (std::string why = why_no_all_reduce(job); !why.empty()) return left_out(std::move(why));
  const std::optional<ShardingSpec>& now = job.scenario.training.sharding;
  Attempts out;
  for (std::int64_t stage = now ? now->stage + 1 : 1; stage <= 3; ++stage) out.all.push_back(of_stage(stage));
  if (job.blueprint.fabric->hosts() > 1 && (!now || now->across == ShardingSpec::Across::all))
    out.all.push_back({"stage 3 in each host", {"training.sharding.stage=3", "training.sharding.across=host"}});
  return out.all.empty() ? left_out("all states are shared already") : out;
}

Attempts unshard(const AdvisedJob& job) {
  const std::optional<ShardingSpec>& now = job.scenario.training.sharding;
  if (!now) return left_out("no states are shared");
  Attempts out;
  for (std::int64_t stage = 1; stage < now->stage; ++stage) out.all.push_back(of_stage(stage));
  out.all.push_back({"none", {"training.sharding=none"}});
  return out;
}

Attempts messages_16bit(const AdvisedJob& job) {
  if (std::string why = why_no_messages(job); !why.empty()) return left_out(std::move(why));
  if (job.scenario.workload.precision != NumberFormat::fp32) return left_out("messages have 16 bits already");
  if (job.scenario.training.compression.name != "none") return left_out("messages are compressed already");
  Attempt half{"fp16", {"training.compression=fp16"}};
  if (job.scenario.training.sharding) half.note = "frameworks also round the weights that are gathered";
  return {{half}};
}

Attempts precision_16bit(const AdvisedJob& job) {
  if (job.scenario.workload.precision != NumberFormat::fp32) return left_out("computing has 16 bits already");
  for (const auto& [format, half] : {std::pair("bf16", &ComputeSpec::bf16), std::pair("mixed", &ComputeSpec::fp16)}) {
    const bool all = std::ranges::all_of(job.scenario.cluster.workers, [&, half = half](const WorkerGroup& group) {
      return (job.scenario.devices.at(group.device).compute.*half).has_value();
    });
    if (all) return {{{format, {fmt::format("workload.precision={}", format)}}}};
  }
  return left_out("devices have no rates for 16 bits: their times were measured in one precision");
}

/// What the host's launches cost.
Attempts host(const AdvisedJob& job) {
  Attempt bound{"a host that costs nothing"};
  bound.note = "an upper bound: fewer, larger kernels (a compiled model, CUDA graphs, fused optimizers) come near it";
  const Intervention launches = [&] {
    for (Intervention& each : interventions(job.scenario, job.blueprint, true))
      if (each.cause == Cause::launches) return std::move(each);
    return Intervention{};
  }();
  if (launches.absent.empty() && launches.refused.empty() && launches.cause == Cause::launches) {
    bound.bound = launches.setting;
    return {{std::move(bound)}};
  }
  if (!job.facts || !job.facts->gpu_computing) return left_out("no device has times of launches, and no trace of a GPU is there");
  if (job.facts->ranks != 1) return left_out("the GPU's time is known of one rank only, and others are slower");
  bound.bound.emplace(Counterfactual{job.scenario, {}});
  for (const WorkerGroup& group : job.scenario.cluster.workers) {
    DeviceSpec& device = bound.bound->scenario.devices.at(group.device);
    const double forward = device.compute.forward_fraction;
    device.compute = {};
    device.compute.overhead = *job.facts->gpu_computing;
    device.compute.forward_fraction = forward;
    device.update.reset();
  }
  bound.note = fmt::format("the GPU computes {} of a step; {}; the profiler itself slows the host, so measure a step without it",
                           readable_seconds(*job.facts->gpu_computing), bound.note);
  return {{std::move(bound)}};
}

}  // namespace

std::vector<Remedy> same_learning_remedies() {
  constexpr RemedyList list = RemedyList::same_learning;
  constexpr const char* same = "the same";
  return {{list, "overlap", same, true, overlap},
          {list, "bucket", same, true, bucket},
          {list, "algorithm", same, true, algorithm},
          {list, "hierarchical", same, true, hierarchical},
          {list, "loaders", same, true, loaders},
          {list, "replace_slow", same, true, replace_slow},
          {list, "shard", same, true, shard},
          {list, "unshard", same, true, unshard},
          {list, "messages_16bit", "nearly the same: gradients are rounded to 11 significant bits on the way", false, messages_16bit},
          {list, "precision_16bit", "nearly the same: products are rounded to 16 bits, weights and updates stay in FP32", false,
           precision_16bit},
          {list, "host", same, true, host}};
}

}  // namespace straggler
