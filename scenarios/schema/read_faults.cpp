#include <algorithm>
#include <map>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

constexpr std::pair<const char*, FaultSpec::Kind> kinds[] = {{"crash", FaultSpec::Kind::crash},
                                                             {"slow", FaultSpec::Kind::slow},
                                                             {"link", FaultSpec::Kind::link},
                                                             {"join", FaultSpec::Kind::join},
                                                             {"leave", FaultSpec::Kind::leave}};

std::string time(double seconds) { return format_quantity(seconds, Dimension::time); }

void read_span(Section& fault, FaultSpec& spec) {
  fault.require("from", "write a time such as 5s");
  fault.require("to", "write a time such as 8s");
  const std::optional<double> from = fault.measure("from", ValueType::time, any_time());
  const std::optional<double> to = fault.measure("to", ValueType::time, any_time());
  spec.from = from.value_or(0);
  spec.to = to.value_or(0);
  if (from && to && *from >= *to)
    fault.context().problems.add(fault.path_of("to"), time(*to) + " is not after from, " + time(*from) + "; write a later time");
}

void read_worker(Section& fault, FaultSpec& spec) {
  fault.require("worker", "write the rank of a worker such as 3");
  spec.worker = fault.count("worker", Range::at_least(0)).value_or(-1);
}

void read_link_fault(Section& fault, FaultSpec& spec) {
  spec.worker = fault.count("worker", Range::at_least(0)).value_or(-1);
  spec.server = fault.count("server", Range::at_least(0)).value_or(-1);
  spec.link = fault.word("link");
  read_span(fault, spec);
  fault.require("bandwidth_factor", "write a share such as 0.1, or 0 for a link that is down");
  spec.bandwidth_factor = fault.measure("bandwidth_factor", ValueType::fraction, Range::between(0, 1)).value_or(1);
  fault.finish();
  const int named = fault.has("worker") + fault.has("server") + fault.has("link");
  if (named != 1 && !fault.misspelt({"worker", "server", "link"}))
    fault.context().problems.add(fault.place(), fault.path(),
                                 std::string(named == 0 ? "names no link" : "names several links") +
                                     "; write one of worker: 2, server: 0 (both directions of its own link) and link: NAME (of links.csv)");
  else if (fault.has("link") && spec.link.empty() && fault.find("link")->type == YamlNode::Type::scalar)
    fault.problem("link", "is empty; write the name of a link as in links.csv");
}

FaultSpec read_fault(Section fault) {
  FaultSpec spec;
  const YamlNode* kind = fault.require("kind", "write one of: crash, slow, link, join, leave");
  const std::string name = fault.word("kind");
  const auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& known) { return name == known.first; });
  if (found == std::end(kinds)) {
    std::vector<std::string> names;
    for (const auto& known : kinds) names.emplace_back(known.first);
    if (kind != nullptr && kind->type == YamlNode::Type::scalar)
      fault.context().problems.add(kind->place, fault.path_of("kind"), unknown_name("fault", name, names));
    for (const char* key : {"worker", "server", "link", "at", "restart_after", "from", "to", "times_slower", "bandwidth_factor"})
      fault.find(key);
    fault.finish();
    return spec;
  }
  spec.kind = found->second;
  if (spec.kind == FaultSpec::Kind::link) {
    read_link_fault(fault, spec);
    return spec;
  }
  read_worker(fault, spec);
  if (spec.kind == FaultSpec::Kind::slow) {
    read_span(fault, spec);
    fault.require("times_slower", "write a number such as 4");
    spec.times_slower = fault.measure("times_slower", ValueType::number, Range::between(1, 1e6)).value_or(1);
  } else {
    spec.at = fault.required_measure("at", ValueType::time, any_time(), "write a time such as 10s");
    if (spec.kind == FaultSpec::Kind::crash) spec.restart_after = fault.measure("restart_after", ValueType::time, some_time());
  }
  fault.finish();
  return spec;
}

/// When one worker comes, crashes and goes: indices of faults.
struct Life {
  std::optional<std::size_t> join, leave;
  std::vector<std::size_t> crashes;  // ascending in time
};

class FaultCheck {
 public:
  FaultCheck(ReadContext& context, const ClusterSpec& cluster) : context_(context), faults_(cluster.faults) {
    for (const WorkerGroup& group : cluster.workers) workers_ += group.count;
    servers_ = cluster.servers.count;
  }

  void ranks() {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const FaultSpec& fault = faults_[i];
      if (fault.worker >= workers_)
        problem(i, "worker",
                std::to_string(fault.worker) + " is no worker of the cluster; write a rank from 0 to " + std::to_string(workers_ - 1));
      if (fault.server >= servers_)
        problem(i, "server",
                std::to_string(fault.server) +
                    (servers_ == 0 ? " is no server, since the cluster has none; add cluster.servers: {count: 1}"
                                   : " is no server of the cluster; write a number from 0 to " + std::to_string(servers_ - 1)));
    }
  }

  void lives() {
    std::map<std::int64_t, Life> all;
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const FaultSpec& fault = faults_[i];
      Life& life = all[fault.worker];
      if (fault.kind == FaultSpec::Kind::crash) life.crashes.push_back(i);
      if (fault.kind == FaultSpec::Kind::join) once(life.join, i, "joins");
      if (fault.kind == FaultSpec::Kind::leave) once(life.leave, i, "leaves");
    }
    for (auto& [worker, life] : all) {
      std::stable_sort(life.crashes.begin(), life.crashes.end(),
                       [&](std::size_t a, std::size_t b) { return faults_[a].at < faults_[b].at; });
      after_join(life);
      crashes(life);
    }
  }

 private:
  void problem(std::size_t i, const char* key, const std::string& what) {
    context_.problems.add("cluster.faults[" + std::to_string(i) + "]." + key, what);
  }
  std::string worker(std::size_t i) const { return "worker " + std::to_string(faults_[i].worker); }

  void once(std::optional<std::size_t>& known, std::size_t i, const char* does) {
    if (known)
      problem(i, "worker", worker(i) + " " + does + " already in cluster.faults[" + std::to_string(*known) + "]; keep one");
    else
      known = i;
  }

  void after_join(const Life& life) {
    if (!life.join) return;
    const double joined = faults_[*life.join].at;
    std::vector<std::size_t> later = life.crashes;
    if (life.leave) later.push_back(*life.leave);
    for (const std::size_t i : later)
      if (faults_[i].at <= joined)
        problem(i, "at", time(faults_[i].at) + " is not after " + worker(i) + " joins, at " + time(joined) + "; write a later time");
  }

  void crashes(const Life& life) {
    for (std::size_t k = 0; k < life.crashes.size(); ++k) {
      const std::size_t i = life.crashes[k];
      if (life.leave && faults_[i].at >= faults_[*life.leave].at)
        problem(i, "at", worker(i) + " has left by then, at " + time(faults_[*life.leave].at) + "; write an earlier time");
      if (k > 0) while_down(life.crashes[k - 1], i);
    }
  }

  void while_down(std::size_t before, std::size_t i) {
    const FaultSpec &first = faults_[before], &second = faults_[i];
    if (!first.restart_after)
      problem(i, "at", worker(i) + " crashed at " + time(first.at) + " for good; give that crash restart_after, or remove one of the two");
    else if (second.at < first.at + *first.restart_after || second.at == first.at)
      problem(i, "at", worker(i) + " is still down from its crash at " + time(first.at) + "; write a time after its restart");
  }

  ReadContext& context_;
  const std::vector<FaultSpec>& faults_;
  std::int64_t workers_ = 0, servers_ = 0;
};

}  // namespace

std::vector<FaultSpec> read_faults(ReadContext& context, const YamlNode* node, const std::string& path) {
  std::vector<FaultSpec> faults;
  if (node == nullptr) return faults;
  if (node->type != YamlNode::Type::sequence) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a list such as [{kind: crash, worker: 3, at: 10s}]");
    return faults;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    faults.push_back(read_fault(Section(context, &node->items[i], path + "[" + std::to_string(i) + "]", node->items[i].place)));
  return faults;
}

void check_faults(ReadContext& context, const ClusterSpec& cluster) {
  FaultCheck check(context, cluster);
  check.ranks();
  check.lives();
}

}  // namespace straggler
