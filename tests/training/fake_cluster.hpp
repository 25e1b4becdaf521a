// A back end without time, network or data: a test decides who finishes computing, and sees what the scheme makes of it.
#pragma once
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/training/gaps.hpp"
#include "sim/training/node.hpp"

namespace straggler::test {

/// w - g, without state.
class PlainStep final : public UpdateRule {
 public:
  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double, double, std::vector<Handle>&) const override {
    return lineage.elementwise(rules::weighted_mean, std::array{weights, gradient}, {1.0, -1.0});
  }
  double learning_rate(double, double) const override { return 1; }
};

/// What a fake cluster may be told beside its nodes.
struct FakeRun {
  Math math = Math::none;       // lazy: handles have nodes, which say how their values are made
  bool members_change = false;  // workers may crash and restart
};

/// Messages arrive at once, in the order of sending; updates take no time; all-reduces are complete when the last worker has joined.
/// Computations end when the test says so.
class FakeCluster final : public Backend, private ProcessWatcher {
 public:
  FakeCluster(const Scheme& scheme, Rank workers, bool with_server, std::int64_t batch = 1, FakeRun fake = {})
      : scheme_(scheme),
        fake_(fake),
        lineage_(fake.math, Key{1, 3}),
        context_(*this, lineage_, plan_of(workers, batch)),
        computing_(static_cast<std::size_t>(workers)),
        lives_(computing_.size()) {
    const Rank nodes = workers + (with_server ? 1 : 0);
    mail_ = std::vector<Mailbox<MessagePointer>>(static_cast<std::size_t>(nodes));
    timers_.resize(static_cast<std::size_t>(nodes));
    for (Rank rank = 0; rank < nodes; ++rank) nodes_.push_back(std::make_unique<Node>(context_, rank));
    for (Rank rank = 0; rank < nodes; ++rank) {
      processes_.push_back(rank < workers ? scheme.worker(node(rank)) : scheme.server(node(rank)));
      processes_.back().watch(*this, static_cast<std::uint32_t>(rank));
    }
    for (Process& process : processes_) process.start();
    go_on();
  }
  ~FakeCluster() override { processes_.clear(); }

  bool computes(Rank worker) const { return computing_[static_cast<std::size_t>(worker)] != nullptr; }
  /// What `worker` computes now: its batch, the weights that the gradient is taken at, and that gradient.
  const ComputeOperation& computation(Rank worker) const {
    const ComputeOperation* const computing = computing_.at(static_cast<std::size_t>(worker));
    if (!computing) throw std::logic_error("worker " + std::to_string(worker) + " computes nothing");
    return *computing;
  }
  /// `worker` is done with its gradient, and everybody goes on until all wait.
  void finish(Rank worker) {
    computation(worker);  // throws if there is none
    std::exchange(computing_[static_cast<std::size_t>(worker)], nullptr)->complete();
    go_on();
  }
  /// The timer that `rank`, a worker or the server, began last rings; it must not be over.
  void ring(Rank rank) {
    Operation* const timer = std::exchange(timers_.at(static_cast<std::size_t>(rank)), nullptr);
    if (!timer) throw std::logic_error(node(rank).name() + " has set no timer");
    timer->complete();
    go_on();
  }
  bool is_in(Rank worker) const { return lives_[static_cast<std::size_t>(worker)].in; }
  /// Nobody answers it, and what it has sent and nobody has taken is gone.
  void crash(Rank worker) {
    lives_[static_cast<std::size_t>(worker)].in = false;
    gaps_.begin(worker, highest_ + 1);
    processes_[static_cast<std::size_t>(worker)] = Process();
    mail_[static_cast<std::size_t>(worker)].clear();
    for (auto& mail : mail_) mail.remove_if([worker](const MessagePointer& message) { return message->from == worker; });
    tell_of_members();
    go_on();
  }
  /// It begins again from `weights`, under a number that no worker has reached.
  void restart(Rank worker, Weights weights) {
    Life& life = lives_[static_cast<std::size_t>(worker)];
    life.in = true;
    life.first = weights.edit().version = ++highest_;
    gaps_.end(worker, life.first);
    node(worker).start_from(weights);
    begin_process(worker);
    tell_of_members();
    go_on();
  }
  /// What this worker has published.
  const std::vector<Weights>& published(Rank worker) const { return lives_[static_cast<std::size_t>(worker)].published; }
  /// Published versions, as the server or worker 0 published them, and who contributed.
  const std::vector<Weights>& versions() const { return versions_; }
  const std::vector<Contributions>& made() const { return made_; }
  std::size_t dropped() const { return dropped_; }
  std::size_t sent() const { return sent_; }
  Node& node(Rank rank) { return *nodes_[static_cast<std::size_t>(rank)]; }

 private:
  const TrainingPlan& plan_of(Rank workers, std::int64_t batch) {
    plan_.workers = workers;
    plan_.batches = Batches(batch);
    plan_.shared_stream = true;
    plan_.endless = true;
    plan_.optimizer = plan_.outer_optimizer = &rule_;
    return plan_;
  }
  void begin_process(Rank rank) {
    Process& process = processes_[static_cast<std::size_t>(rank)];
    process = scheme_.worker(node(rank));
    process.watch(*this, static_cast<std::uint32_t>(rank));
    process.start();
  }
  void tell_of_members() {
    for (Rank rank = 0; rank < static_cast<Rank>(mail_.size()); ++rank)
      if (rank >= plan_.workers || is_in(rank)) post(rank, Peer(rank, Peer::any_life), Payload(MembershipNotice()));
  }
  void go_on() {
    while (!queue_.empty()) queue_.fire_next();
    if (failure_) std::rethrow_exception(failure_);
  }
  void process_ended(std::uint32_t, std::exception_ptr failure) noexcept override { failure_ = failure; }

  bool start(Operation& operation) override {
    switch (operation.kind()) {
      case Operation::Kind::gradient:
        computing_[static_cast<std::size_t>(operation.node().self())] = static_cast<ComputeOperation*>(&operation);
        return false;
      case Operation::Kind::timer:
        timers_[static_cast<std::size_t>(operation.node().self())] = &operation;
        return false;
      case Operation::Kind::send: {
        auto& send = static_cast<SendOperation&>(operation);
        post(operation.node().self(), send.to(), send.take_payload());
        return true;
      }
      case Operation::Kind::receive: {
        auto& receive = static_cast<MailOperation&>(operation);
        std::optional<MessagePointer> item = mail_[static_cast<std::size_t>(operation.node().self())].receive(receive);
        if (item) receive.message = std::move(*item);
        return item.has_value();
      }
      case Operation::Kind::all_reduce:
        return join(static_cast<CollectiveOperation&>(operation));
      case Operation::Kind::publish: {
        const auto& publish = static_cast<PublishOperation&>(operation);
        highest_ = std::max(highest_, publish.weights()->version);
        if (publish.node().is_worker()) lives_[static_cast<std::size_t>(publish.node().self())].published.push_back(publish.weights());
        const bool has_server = mail_.size() > static_cast<std::size_t>(plan_.workers);
        if (publish.node().self() != (has_server ? plan_.workers : 0)) return true;
        versions_.push_back(publish.weights());
        made_.push_back(publish.made());
        return true;
      }
      case Operation::Kind::step:
      case Operation::Kind::proceed:
        return true;
      default:
        throw UnsupportedOperation("the fake cluster knows no such operation");
    }
  }
  bool join(CollectiveOperation& operation) {
    joined_.push_back(&operation);
    if (joined_.size() < static_cast<std::size_t>(plan_.workers)) return false;
    std::vector<Gradient> parts;
    std::sort(joined_.begin(), joined_.end(), [](const auto* a, const auto* b) { return a->node().self() < b->node().self(); });
    for (const CollectiveOperation* each : joined_) parts.push_back(std::get<Gradient>(each->payload));
    for (CollectiveOperation* each : std::exchange(joined_, {})) {
      each->payload = context_.algebra.mean(parts);
      if (each != &operation) each->complete();
    }
    return true;
  }
  void cancel(Operation& operation) noexcept override {
    if (operation.kind() == Operation::Kind::receive) static_cast<MailOperation&>(operation).leave();
    for (ComputeOperation*& computing : computing_)
      if (computing == &operation) computing = nullptr;
    std::replace(timers_.begin(), timers_.end(), &operation, static_cast<Operation*>(nullptr));
  }
  void due(Operation& operation) override { operation.complete_from_event(); }
  void wake(Operation& operation) override { queue_.after(Time(), operation); }
  void received(MailOperation& operation) override { operation.complete(); }
  void post(Rank from, Peer to, Payload&& payload) override {
    ++sent_;
    if (to.rank < plan_.workers && !is_in(to.rank)) return;
    mail_[static_cast<std::size_t>(to.rank)].put(std::make_unique<Message>(from, to.rank, std::move(payload)));
  }
  void discarded(Rank, const Payload&) override { ++dropped_; }
  void signal_workers(Rank, SyncSignal) override { throw UnsupportedOperation("the fake cluster carries no signals"); }
  bool is_member(Rank worker) const override { return is_in(worker); }
  bool is_in(Rank worker, std::uint64_t version) const override { return !gaps_.hold(worker, version); }
  std::uint64_t first_version(Rank worker) const override { return lives_[static_cast<std::size_t>(worker)].first; }
  Peer last_heard(Rank, Rank other) const override { return {other, Peer::any_life}; }
  Peer present(Rank worker) const override { return {worker, Peer::any_life}; }
  bool awaits(Rank worker) const override { return is_in(worker); }
  Rank enrolled() const override { return plan_.workers; }
  bool is_enrolled(Rank) const override { return true; }
  bool reduces() const override { return true; }
  bool members_change() const override { return fake_.members_change; }
  Time now() const override { return {}; }
  std::int32_t forced_choice(Rank) override { return -1; }
  void chosen(Rank, std::int32_t) override {}

  struct Life {
    bool in = true;
    std::uint64_t first = 0;         // version of the weights with which it began
    std::vector<Weights> published;  // in all of its lives
  };
  const Scheme& scheme_;
  const FakeRun fake_;
  TrainingPlan plan_;
  PlainStep rule_;
  Lineage lineage_;
  EventQueue queue_;
  NodeContext context_;
  std::vector<Mailbox<MessagePointer>> mail_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<ComputeOperation*> computing_;
  std::vector<Operation*> timers_;  // [ranks]
  std::vector<CollectiveOperation*> joined_;
  std::vector<Weights> versions_;
  std::vector<Contributions> made_;
  std::vector<Life> lives_;
  Gaps gaps_;
  std::uint64_t highest_ = 0;  // version that a worker has published or begun with
  std::size_t dropped_ = 0, sent_ = 0;
  std::exception_ptr failure_;
  std::vector<Process> processes_;  // last: frames die first
};

/// A registered scheme, with its defaults but for what is given.
inline std::unique_ptr<Scheme> scheme_of(const std::string& name, const ParameterTexts& given) {
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(name);
  return entry.make(variant_of(entry, given).parameters);
}

inline std::vector<Rank> workers_of(const Contributions& made) {
  std::vector<Rank> workers;
  for (const Contribution& each : made) workers.push_back(each.worker);
  return workers;
}

}  // namespace straggler::test
