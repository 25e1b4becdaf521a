#include "scenarios/import/timed_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenarios/import/host_topology.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/yaml_text.hpp"

namespace straggler::import_timed_job {
namespace {

constexpr double usual_bucket = 25 << 20;  // of DistributedDataParallel
constexpr std::int64_t usual_batch = 32;
constexpr double longest_step = 20'000;  // seconds: 400 of them are the longest time of a scenario
constexpr double most_parameters = 1e12;
constexpr double alike = 0.01;  // ranks whose work differs by less are one group

/// Six digits: more than any clock gives.
double rounded(double value) { return value == 0 ? 0 : std::stod(fmt::format("{:.6g}", value)); }
std::string seconds_text(double seconds) { return format_quantity(rounded(std::max(0.0, seconds)), Dimension::time); }

class Writer {
 public:
  explicit Writer(TimedJob job) : job_(std::move(job)) {
    if (!(job_.step > 0 && job_.step <= longest_step))
      throw DataError(fmt::format("{}: has steps of {} in the mean, which none takes; get the original file", job_.from.front(),
                                  readable_seconds(job_.step)));
    const auto refuse_part = [this](const char* what, double seconds) {
      if (!(seconds >= 0 && seconds <= longest_step))
        throw DataError(fmt::format("{}: has {} of {}, beside steps of {}; get the original file", job_.from.front(), what,
                                    readable_seconds(seconds), readable_seconds(job_.step)));
    };
    for (const TimedRank& rank : job_.ranks)
      for (const double part : {rank.forward, rank.backward, rank.update, rank.loader, rank.rest, rank.work()})
        refuse_part("a part of a step", part);
    for (const TimedBucket& bucket : job_.buckets) refuse_part("a collective", bucket.seconds);
    std::vector<std::string> files;
    for (const std::string& file : job_.from) files.push_back(on_one_line(file));
    from_ = files.size() <= 2 ? listed(files) : fmt::format("{} and {} more files", files[0], files.size() - 1);
    source_ = fmt::format("from {}{}", from_, job_.where.empty() ? "" : ": " + job_.where);
    batch_ = job_.batch.value_or(usual_batch);
    if (!job_.batch) job_.assumed.push_back(fmt::format("{} samples a worker", batch_));
    if (job_.workers > static_cast<std::int64_t>(job_.ranks.size()))
      job_.assumed.push_back(job_.ranks.size() == 1 ? fmt::format("the other {} like rank {}", job_.workers == 2 ? "rank is" : "ranks are",
                                                                  job_.ranks[0].name())
                                                    : "ranks without a file are like the median of the others");
    if (job_.hosts) on_hosts(*job_.hosts);
    job_.assumed.emplace_back("SGD, and that nothing is learned: this is for timing");
    sizes_of_buckets();
    if (parameters() > most_parameters)
      throw DataError(
          fmt::format("{}: has buckets of {:.3g} parameters, as no model has; get the original file", job_.from.front(), parameters()));
  }

  Imported write() {
    Imported imported;
    imported.name = job_.name;
    imported.said = {{"job", fmt::format("{} ({})", job_.what, job_.format)}};
    imported.said.emplace_back(
        "step", fmt::format("{}, mean of {} step{}", readable_seconds(job_.step), job_.steps.size(), job_.steps.size() == 1 ? "" : "s"));
    for (auto& line : job_.said) imported.said.push_back(line);
    if (all_ranks()) imported.said.push_back(said_of(slowdown_of(job_)));
    for (const std::string& sentence : job_.assumed) imported.said.emplace_back("assumed", sentence);
    for (const std::string& sentence : job_.missing) imported.said.emplace_back("missing", sentence);
    imported.files = {{"import.json", json_document(json())},
                      {"claim.yaml", claim()},
                      {"measured.csv", measured_csv(job_.step)},
                      {"scenario.yaml", scenario()}};
    imported.files.emplace_back("layers.csv", layers());
    if (exchanges()) imported.files.emplace_back("collectives.csv", collectives());
    if (!job_.jitter.empty()) imported.files.emplace_back("jitter.csv", job_.jitter);
    std::ranges::sort(imported.files);
    imported.next = "scenario.yaml";
    if (!exchanges())
      imported.off_hosts = job_.workers == 1 ? "its one worker exchanges nothing" : "no exchange between its ranks was found";
    return imported;
  }
  bool exchanges() const { return job_.workers > 1 && !job_.buckets.empty(); }

 private:
  bool all_ranks() const { return job_.ranks.size() > 1 && static_cast<std::int64_t>(job_.ranks.size()) == job_.workers; }
  std::pair<std::string, std::string> said_of(const Slowdown& slowdown) const {
    const auto worst = static_cast<std::size_t>(std::ranges::max_element(slowdown.by_rank) - slowdown.by_rank.begin());
    double others = 0;
    for (std::size_t i = 0; i < slowdown.by_rank.size(); ++i)
      if (i != worst) others = std::max(others, slowdown.by_rank[i]);
    return {"S",
            fmt::format("{:.3f}: the step over that of even ranks ({}). S_w, with one rank alone as slow as it is: rank {} {:.3f}, the "
                        "others at most {:.3f}",
                        slowdown.all, readable_seconds(slowdown.even), job_.ranks[worst].name(), slowdown.by_rank[worst], others)};
  }

  void on_hosts(const HostNetwork& hosts) {
    job_.assumed.push_back(
        fmt::format("hosts of {} GPU{} from {}, filled in the order of ranks; their links count once `collective` is simulated", hosts.gpus,
                    hosts.gpus == 1 ? "" : "s", hosts.file));
    job_.facts["hosts"] = {{"file", hosts.file}, {"gpus", hosts.gpus}, {"machine", text_or_null(hosts.machine)}};
    const std::string device = job_.facts.contains("device") ? job_.facts["device"].get<std::string>() : std::string();
    const std::string others = other_gpus(hosts.machine, device);
    if (others.empty()) return;
    const std::string warning =
        fmt::format("{} is a {} (of {}), and the job ran on {}: are these its hosts?", hosts.file, hosts.machine, others, device);
    job_.facts["warnings"] = Json::array({warning});
    job_.said.emplace_back("warning", warning);
  }

  void sizes_of_buckets() {
    bool unknown = false;
    for (TimedBucket& bucket : job_.buckets) {
      width_ = std::max(width_, bucket.element_bytes.value_or(0));
      unknown = unknown || !bucket.elements || *bucket.elements < 1;
    }
    if (width_ != 2) width_ = 4;
    const bool timed = std::ranges::any_of(job_.buckets, [](const TimedBucket& bucket) { return bucket.seconds > 0; });
    if (unknown)
      job_.assumed.push_back(timed ? "buckets of 25 MiB where their bytes are missing: their times are measured, whatever they hold"
                                   : "a message of 26.2 MB, whose all-reduce takes no time");
    double extra = 0;  // so that each has its own time
    for (const TimedBucket& bucket : job_.buckets) {
      const bool known = bucket.elements && *bucket.elements >= 1;
      const double bytes = known ? *bucket.elements * bucket.element_bytes.value_or(width_) : usual_bucket + width_ * extra++;
      numbers_.push_back(std::max(1.0, std::round(bytes / width_)));
    }
  }

  double parameters() const { return std::accumulate(numbers_.begin(), numbers_.end(), 0.0); }

  /// The rank that all others wait for.
  const TimedRank& slowest() const { return *std::ranges::max_element(job_.ranks, {}, &TimedRank::work); }
  const TimedRank& median_rank() const {
    std::vector<const TimedRank*> order;
    for (const TimedRank& rank : job_.ranks) order.push_back(&rank);
    std::ranges::stable_sort(order, {}, [](const TimedRank* rank) { return rank->work(); });
    return *order[(order.size() - 1) / 2];
  }

  /// A run sends the last bucket at the end of backward. Where the measured one left earlier, one parameter that takes no time is last.
  bool ends_early() const { return exchanges() && job_.overlap && job_.buckets.back().ready < 0.999; }

  std::string layers() const {
    std::string csv = "name,parameters,flops\n";
    constexpr double whole = 1e9;
    const double last = job_.buckets.empty() ? 0 : std::clamp(job_.buckets.back().ready, 0.0, 1.0);
    if (job_.buckets.empty()) return csv + fmt::format("all,1,{:.0f}\n", whole);
    csv += fmt::format("behind the buckets,{},{:.0f}\n", ends_early() ? 1 : 0, whole * (1 - last));
    for (std::size_t i = job_.buckets.size(); i-- > 0;) {
      const double before = i == 0 ? 0 : std::clamp(job_.buckets[i - 1].ready, 0.0, 1.0);
      const double share = std::max(0.0, std::clamp(job_.buckets[i].ready, 0.0, 1.0) - before);
      csv += fmt::format("bucket {},{:.0f},{:.0f}\n", i + 1, numbers_[i], whole * share);
    }
    return csv;
  }

  std::string collectives() const {
    std::string csv = "bucket,bytes,seconds\n";
    for (std::size_t i = 0; i < job_.buckets.size(); ++i)
      csv += fmt::format("{},{:.0f},{}\n", i + 1, numbers_[i] * width_, format_number(rounded(job_.buckets[i].seconds)));
    if (ends_early()) csv += fmt::format("{},{},0\n", job_.buckets.size() + 1, width_);
    return csv;
  }

  static std::string measured_csv(double step) { return fmt::format("figure,seconds\nstep,{}\n", format_number(step)); }

  /// That a run repeats the step: how complete the import is.
  std::string claim() const {
    return fmt::format(
        "claim: 1\nkind: replay   # its figures come from the files themselves: it predicts nothing\ntitle: {}\nsource: {}\n"
        "scenario: scenario.yaml\nmeasured: measured.csv\ncompare: {{column: seconds, unit: s, metric: update_seconds}}\nbound: {{max: "
        "5%}}\n",
        yaml_quoted(fmt::format("{} is replayed", job_.name)), yaml_quoted(source_));
  }

  /// Of a device of this rank. A host's time does not grow with the batch.
  std::string device(const std::string& name, const TimedRank& rank) const {
    const double forward = rank.forward + rank.rest + (parameters() > 0 ? 0 : rank.update), work = forward + rank.backward;
    std::string yaml = fmt::format("  {}:\n", name);
    const double each = job_.work_of_host ? work : work / static_cast<double>(batch_);
    yaml += fmt::format(
        "    compute:\n      affine: {{{}: {}}}   # {}: {} forward, {} backward{}\n", job_.work_of_host ? "overhead" : "per_sample",
        seconds_text(std::max(each, 1e-9)), source_, readable_seconds(forward), readable_seconds(rank.backward),
        job_.work_of_host ? "; of the host, whatever the batch is" : fmt::format("; assumed: in proportion to the batch of {}", batch_));
    if (forward > 1e-6 * work && rank.backward > 1e-6 * work)
      yaml += fmt::format("      forward_fraction: {}   # {}\n", format_number(rounded(forward / work)), source_);
    if (rank.update > 1e-6 && parameters() > 0)
      yaml += fmt::format("    update: {}   # {}: {}\n", format_quantity(rounded(4 * parameters() / rank.update), Dimension::rate), source_,
                          readable_seconds(rank.update));
    if (!job_.jitter.empty())
      yaml += fmt::format("    jitter: {{kind: trace, path: jitter.csv, offset: none}}   # {}, a factor for each step\n", source_);
    if (job_.loader)
      yaml += fmt::format("    loader: {{per_sample: {}, workers: {}}}   # {}: {} processes of {} a batch\n",
                          seconds_text(job_.loader->batch_seconds / static_cast<double>(batch_)), job_.loader->processes, source_,
                          job_.loader->processes, readable_seconds(job_.loader->batch_seconds));
    else if (rank.loader > 1e-6)
      yaml += fmt::format("    loader: {{per_sample: {}, workers: 0}}   # {}: waits {} for a batch\n",
                          seconds_text(rank.loader / static_cast<double>(batch_)), source_, readable_seconds(rank.loader));
    return yaml;
  }

  struct Group {
    std::int64_t count = 0;
    std::string device;
  };

  /// Ranks in order; those like the median share its device.
  std::vector<Group> groups(std::string& devices) const {
    const TimedRank& usual = median_rank();
    devices += device("rank", usual);
    std::vector<Group> all;
    const auto add = [&all](const std::string& name, std::int64_t count) {
      if (!all.empty() && all.back().device == name)
        all.back().count += count;
      else
        all.push_back({count, name});
    };
    std::int64_t next = 0;
    for (const TimedRank& rank : job_.ranks) {
      if (job_.ranks.size() > 1 && rank.rank > next && rank.rank < job_.workers) add("rank", rank.rank - next);
      const bool same = std::abs(rank.work() - usual.work()) <= alike * usual.work();
      const std::string name = same ? "rank" : fmt::format("rank{}", rank.name());
      if (!same) devices += device(name, rank);
      add(name, 1);
      next = job_.ranks.size() > 1 ? std::max(next, rank.rank) + 1 : 1;
    }
    if (next < job_.workers) add("rank", job_.workers - next);
    return all;
  }

  /// Of a group behind `before` workers: on the host that those leave room on, or on a new one.
  std::string host_behind(std::int64_t before) const {
    if (!job_.hosts) return {};
    const std::int64_t seats = static_cast<std::int64_t>(job_.hosts->gpus);
    return before % seats == 0 ? fmt::format(", per_host: {}", seats) : ", same_host: true";
  }

  std::string scenario() const {
    std::string devices;
    const std::vector<Group> all = groups(devices);
    std::string yaml = fmt::format(
        "{} {} from {}, which replaces this file while this line begins it.\n"
        "#   straggler run FILE --timing-only\n"
        "# {}: a step takes {}\n",
        import_mark, version(), from_, job_.what, readable_seconds(job_.step));
    for (const std::string& sentence : job_.assumed) yaml += "# assumed: " + on_one_line(sentence) + "\n";
    for (const std::string& sentence : job_.missing) yaml += "# missing: " + on_one_line(sentence) + "\n";
    yaml += fmt::format("straggler: 1\nname: {}\n\ndevices:\n{}\ncluster:\n  workers:\n", yaml_word(job_.name), devices);
    std::int64_t before = 0;
    for (const Group& group : all) {
      yaml += fmt::format("    - {{count: {}, device: {}{}}}   # {}\n", group.count, group.device, host_behind(before),
                          job_.ranks.size() == 1 && job_.workers > 1 ? "assumed: all like the rank that was measured" : source_);
      before += group.count;
    }
    if (exchanges()) {
      yaml += "  network:\n";
      yaml += job_.hosts ? "    # Not used while times of collectives are measured.\n" + network_lines(*job_.hosts)
                         : "    link: {bandwidth: 100Gbps, latency: 5us}   # assumed; not used while times of collectives are measured\n";
      yaml += fmt::format("    collective: {{kind: measured, path: collectives.csv, bucket: 1B{}}}   # {}{}\n",
                          job_.overlap ? ", overlap: true" : "", source_,
                          job_.holds_waiting ? "; its times contain waiting for other ranks" : "");
    } else {
      yaml += "  network: {link: {bandwidth: 100Gbps, latency: 5us}}   # assumed\n";
    }
    yaml += fmt::format(
        "\nworkload:\n  cost: {{model: {{kind: sizes, layers: layers.csv}}}}   # {}\n",
        job_.buckets.empty() ? "assumed: the model does not matter, nothing is sent" : source_ + ", a bucket of gradients a layer");
    if (ends_early())
      yaml += "  # assumed: one more parameter ends backward, and is sent in no time: the last bucket left before that end\n";
    if (width_ == 2 && exchanges()) yaml += fmt::format("  precision: bf16   # {}: gradients of two bytes\n", source_);
    yaml += fmt::format(
        "\ntraining:\n  scheme: ssgd   # {}\n  batch: {{per_worker: {}}}   # {}\n"
        "  optimizer: {{kind: sgd, learning_rate: 0.1}}   # assumed\n  stop: {{updates: 400}}   # assumed\n",
        exchanges() ? source_ : "assumed", batch_, job_.batch ? source_ : "assumed");
    return yaml;
  }

  Json json() const {
    Json json{{"format", job_.format}, {"yields", "job"}, {"files", job_.from}, {"describes", job_.what}};
    json["workers"] = job_.workers;
    json["batch"] = json_or_null(job_.batch);
    json["step_s"] = job_.step;
    json["steps"] = job_.steps;
    const TimedRank& rank = job_.ranks.size() == 1 ? job_.ranks.front() : median_rank();
    json["phases"] = {{"forward_s", rank.forward},
                      {"backward_s", rank.backward},
                      {"update_s", rank.update},
                      {"loader_s", rank.loader},
                      {"rest_s", rank.rest}};
    Json buckets = Json::array();
    for (std::size_t i = 0; i < job_.buckets.size(); ++i) {
      const TimedBucket& bucket = job_.buckets[i];
      const bool known = bucket.elements && bucket.element_bytes;
      buckets.push_back({{"bytes", known ? Json(std::llround(*bucket.elements * *bucket.element_bytes)) : Json()},
                         {"elements", bucket.elements ? Json(std::llround(*bucket.elements)) : Json()},
                         {"ready", bucket.ready},
                         {"seconds", bucket.seconds}});
    }
    json["buckets"] = std::move(buckets);
    Json waits = Json::array(), ranks = Json::array();
    bool waits_known = true;
    for (const TimedRank& each : job_.ranks) {
      waits_known = waits_known && each.wait;
      waits.push_back(each.wait ? Json(*each.wait) : Json());
      ranks.push_back({{"rank", each.name()},
                       {"work_s", each.work()},
                       {"forward_s", each.forward},
                       {"backward_s", each.backward},
                       {"update_s", each.update},
                       {"loader_s", each.loader},
                       {"rest_s", each.rest},
                       {"wait_s", each.wait ? Json(*each.wait) : Json()}});
    }
    json["waits_s"] = waits_known ? std::move(waits) : Json();
    json["ranks"] = std::move(ranks);
    const bool all_known = std::ranges::all_of(job_.buckets, [](const TimedBucket& bucket) { return bucket.elements.has_value(); });
    if (!job_.buckets.empty() && all_known) json["parameters"] = std::llround(parameters());
    if (all_ranks()) {
      const Slowdown slowdown = slowdown_of(job_);
      json["S"] = slowdown.all;
      json["S_w"] = slowdown.by_rank;
      json["even_step_s"] = slowdown.even;
    }
    json.update(job_.facts);
    json["missing"] = job_.missing;
    json["assumed"] = job_.assumed;
    return json;
  }

  TimedJob job_;
  std::string from_, source_;
  std::int64_t batch_ = 1;
  int width_ = 0;                // bytes of a number in messages
  std::vector<double> numbers_;  // [buckets]
};

}  // namespace
}  // namespace straggler::import_timed_job

namespace straggler {

std::string step_factors(const std::vector<std::vector<double>>& seconds) {
  constexpr double same = 1e-6, most = 1e6;
  std::vector<double> means;
  for (const std::vector<double>& each : seconds) means.push_back(mean_seconds(each));
  std::string csv;
  bool even = true;
  for (std::size_t step = 0; step < seconds.front().size(); ++step)
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      const double factor = means[rank] > 0 ? std::clamp(seconds[rank][step] / means[rank], 1 / most, most) : 1;
      even = even && std::abs(factor - 1) < same;
      csv += (rank == 0 ? "" : ",") + format_number(import_timed_job::rounded(factor)) + (rank + 1 == seconds.size() ? "\n" : "");
    }
  return even ? std::string() : csv;
}

double mean_seconds(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_seconds(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Slowdown slowdown_of(const TimedJob& job) {
  std::vector<double> work;
  for (const TimedRank& rank : job.ranks) work.push_back(rank.work());
  const double mean = mean_seconds(work);
  double most = *std::ranges::max_element(work);
  const std::size_t steps = job.ranks.front().works.size();
  const bool by_step = steps > 0 && std::ranges::all_of(job.ranks, [&](const TimedRank& rank) { return rank.works.size() == steps; });
  if (by_step) {
    most = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      double longest = 0;
      for (const TimedRank& rank : job.ranks) longest = std::max(longest, rank.works[s]);
      most += longest;
    }
    most /= static_cast<double>(steps);
  }
  const auto alone = [&](const TimedRank& rank) {  // the others work as long as the mean
    if (!by_step) return std::max(mean, rank.work());
    double sum = 0;
    for (const double each : rank.works) sum += std::max(mean, each);
    return sum / static_cast<double>(steps);
  };
  Slowdown out;
  const double behind = std::max(0.0, job.step - most);  // what the slowest rank does not hide
  out.even = mean + behind;
  out.all = job.step / out.even;
  for (const TimedRank& rank : job.ranks) out.by_rank.push_back((alone(rank) + behind) / out.even);
  return out;
}

Imported imported_job(TimedJob job) {
  const bool hosted = job.workers > 1 && !job.buckets.empty() && !job.hosts;
  Imported imported = import_timed_job::Writer(job).write();
  if (!hosted) return imported;
  imported.on_hosts = [job = std::move(job)](const HostNetwork& hosts) mutable {
    job.hosts = hosts;
    return imported_job(std::move(job));
  };
  return imported;
}

}  // namespace straggler
