#include <algorithm>
#include <map>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

using FaultKind = FaultSpec::Kind;

constexpr ChoiceTable<FaultKind> dated_choice("kind", {{FaultKind::crash, "crash"},
                                                       {FaultKind::slow, "slow"},
                                                       {FaultKind::link, "link"},
                                                       {FaultKind::join, "join"},
                                                       {FaultKind::leave, "leave"}});
constexpr ChoiceTable<FaultKind> repeating_choice("kind", {{FaultKind::random, "random"},
                                                           {FaultKind::fail_slow, "fail_slow"},
                                                           {FaultKind::preempt, "preempt"},
                                                           {FaultKind::trace, "trace"}});

std::vector<std::string> kind_names() {
  std::vector<std::string> all = dated_choice.names();
  for (std::string& name : repeating_choice.names()) all.push_back(std::move(name));
  return all;
}

std::string time(double seconds) { return format_quantity(seconds, Dimension::time); }

std::function<bool(const FaultSpec&)> is(std::initializer_list<FaultKind> kinds) {
  return [all = std::vector<FaultKind>(kinds)](const FaultSpec& spec) { return std::find(all.begin(), all.end(), spec.kind) != all.end(); };
}

Field<FaultSpec> kind_field() {
  const ScenarioKey key{.name = "kind",
                        .type = ValueType::choice,
                        .meaning = "below",
                        .required = true,
                        .remedy = "write one of: " + joined(kind_names()),
                        .choices = kind_names()};
  Field<FaultSpec> made{key, {}, {}, {}};
  made.read = [remedy = key.remedy](Section& fault, FaultSpec& spec) {
    const YamlNode* kind = fault.require("kind", remedy);
    const std::string name = fault.word("kind");
    const std::optional<FaultKind> dated = dated_choice.find(name), found = dated ? dated : repeating_choice.find(name);
    spec.kind = found.value_or(FaultKind::none);
    if (found) return;
    if (kind != nullptr && kind->type == YamlNode::Type::scalar)
      fault.context().problems.add(kind->place, fault.path_of("kind"), unknown_name("fault", name, kind_names()));
    for (const char* other : {"worker", "server", "link", "at", "restart_after", "from", "to", "times_slower", "bandwidth_factor", "of",
                              "every", "repair", "lasts", "notice", "back_after", "path"})
      fault.find(other);
  };
  made.write = [](Texts& out, const FaultSpec& spec, const WriteContext&) { out.emplace_back("kind", std::string(name_of(spec.kind))); };
  made.same = [](const FaultSpec& a, const FaultSpec& b) { return a.kind == b.kind; };
  return made;
}

ScenarioKey hidden(ScenarioKey key) {
  key.meaning.clear();
  return key;
}

Part<FaultSpec> fault_part() {
  const ScenarioKey worker{.name = "worker",
                           .type = ValueType::count,
                           .range = Range::at_least(0),
                           .meaning = "the worker that it hits; for `link`: the worker whose link it hits",
                           .otherwise = "required, but for `link`"};
  ScenarioKey struck = hidden(worker);
  struck.required = true;
  struck.remedy = "write the rank of a worker such as 3";
  const auto rank_written = [](std::int64_t FaultSpec::*member) { return [member](const FaultSpec& spec) { return spec.*member >= 0; }; };
  const auto moment = [](const char* name, const char* meaning, const char* otherwise, const char* remedy) {
    return ScenarioKey{.name = name,
                       .type = ValueType::time,
                       .range = any_time(),
                       .meaning = meaning,
                       .required = true,
                       .remedy = remedy,
                       .otherwise = otherwise};
  };
  std::vector<Field<FaultSpec>> fields = {
      kind_field(),
      only_if<FaultSpec>(is({FaultKind::link}), written_if<FaultSpec>(rank_written(&FaultSpec::worker), field(&FaultSpec::worker, worker))),
      only_if<FaultSpec>(is({FaultKind::crash, FaultKind::slow, FaultKind::join, FaultKind::leave}), field(&FaultSpec::worker, struck)),
      only_if<FaultSpec>(is({FaultKind::link}),
                         written_if<FaultSpec>(rank_written(&FaultSpec::server),
                                               field(&FaultSpec::server, {.name = "server",
                                                                          .type = ValueType::count,
                                                                          .range = Range::at_least(0),
                                                                          .meaning = "for `link`: the server whose link it hits",
                                                                          .otherwise = "none"}))),
      only_if<FaultSpec>(
          is({FaultKind::link}),
          field(&FaultSpec::link,
                {.name = "link", .type = ValueType::text, .meaning = "of `link`: a link by its name in `links.csv`", .otherwise = "none"})),
      only_if<FaultSpec>(
          is({FaultKind::slow, FaultKind::link}),
          field(&FaultSpec::from, moment("from", "of `slow` and `link`: its beginning", "required there", "write a time such as 5s"))),
      only_if<FaultSpec>(is({FaultKind::slow, FaultKind::link}),
                         field(&FaultSpec::to, moment("to", "of `slow` and `link`: its end", "required there", "write a time such as 8s"))),
      only_if<FaultSpec>(
          is({FaultKind::crash, FaultKind::join, FaultKind::leave}),
          field(&FaultSpec::at, moment("at", "of `crash`, `join` and `leave`", "required there", "write a time such as 10s"))),
      only_if<FaultSpec>(is({FaultKind::crash}), field(&FaultSpec::restart_after, {.name = "restart_after",
                                                                                   .type = ValueType::time,
                                                                                   .range = some_time(),
                                                                                   .meaning = "of `crash`: when it is back",
                                                                                   .otherwise = "never"})),
      only_if<FaultSpec>(is({FaultKind::slow}), field(&FaultSpec::times_slower, {.name = "times_slower",
                                                                                 .type = ValueType::number,
                                                                                 .range = Range::between(1, 1e6),
                                                                                 .meaning = "of `slow`; spells that overlap multiply",
                                                                                 .required = true,
                                                                                 .remedy = "write a number such as 4",
                                                                                 .otherwise = "required there"})),
      only_if<FaultSpec>(is({FaultKind::link}),
                         field(&FaultSpec::bandwidth_factor, {.name = "bandwidth_factor",
                                                              .type = ValueType::fraction,
                                                              .range = Range::between(0, 1),
                                                              .meaning = "of `link`: 0 is down",
                                                              .required = true,
                                                              .remedy = "write a share such as 0.1, or 0 for a link that is down",
                                                              .otherwise = "required there"})),
  };
  for (Field<FaultSpec>& field : fault_process_fields()) fields.push_back(std::move(field));
  return Part<FaultSpec>(std::move(fields));
}

void check_fault(Section& fault, FaultSpec& spec, const std::vector<FaultSpec>&) {
  if (repeats(spec)) return check_fault_process(fault, spec);
  if ((spec.kind == FaultKind::slow || spec.kind == FaultKind::link) && fault.understood("from") && fault.understood("to") &&
      spec.from >= spec.to)
    fault.context().problems.add(fault.path_of("to"), time(spec.to) + " is not after from, " + time(spec.from) + "; write a later time");
  if (spec.kind != FaultKind::link) return;
  const int named = fault.has("worker") + fault.has("server") + fault.has("link");
  if (named != 1 && !fault.misspelt({"worker", "server", "link"}))
    fault.context().problems.add(fault.place(), fault.path(),
                                 std::string(named == 0 ? "names no link" : "names several links") +
                                     "; write one of worker: 2, server: 0 (both directions of its own link) and link: NAME (of links.csv)");
  else if (fault.has("link") && spec.link.empty() && fault.find("link")->type == YamlNode::Type::scalar)
    fault.problem("link", "is empty; write the name of a link as in links.csv");
}

/// Joins, crashes and departures of one worker: indices of faults.
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

std::string_view name_of(FaultSpec::Kind kind) {
  const std::vector<std::string> dated = dated_choice.names();
  return static_cast<std::size_t>(kind) < dated.size() ? dated_choice.name_of(kind) : repeating_choice.name_of(kind);
}

Field<ClusterSpec> faults_field() {
  return list(&ClusterSpec::faults,
              {.name = "faults",
               .meaning = "failures and slowdowns, below",
               .remedy = "write a list such as [{kind: crash, worker: 3, at: 10s}]",
               .own_table = true},
              fault_part(), {.check = check_fault});
}

void check_faults(ReadContext& context, const ClusterSpec& cluster) {
  FaultCheck check(context, cluster);
  check.ranks();
  check.lives();
}

}  // namespace straggler
