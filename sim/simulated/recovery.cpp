#include "sim/simulated/recovery.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

class Recovery::Alarm final : public Event {
 public:
  explicit Alarm(EventQueue& queue) : queue_of_(queue) {}
  ~Alarm() = default;
  void set(Time span, std::function<void()> then) {
    cancel();
    then_ = std::move(then);
    queue_of_.after(span, *this);
  }

 private:
  void happen() override { std::exchange(then_, {})(); }
  EventQueue& queue_of_;
  std::function<void()> then_;
};

/// All that the versions after it depend on.
struct Recovery::Snapshot {
  std::uint64_t version = 0;
  Weights weights;                  // of the version; of a server
  std::map<Rank, Weights> own;      // where workers publish: what each of them has
  std::map<Rank, SavedNode> nodes;  // others are as at the beginning
  SampleStream pool;
  std::optional<OwnVersions> versions;
};

Recovery::Recovery(const SimulatedRun& run, RunRecorder& recorder, PostOffice& post_office, Collectives& collectives,
                   Computations& computations, Publications& publications, Membership& membership)
    : run_(run),
      settings_(run.world.cluster.recovery),
      recorder_(recorder),
      post_office_(post_office),
      collectives_(collectives),
      computations_(computations),
      publications_(publications),
      membership_(membership),
      saving_(std::make_unique<Alarm>(run.world.queue())),
      recovering_(std::make_unique<Alarm>(run.world.queue())),
      kept_(std::make_shared<Snapshot>()),
      spares_(settings_.spares) {
  kept_->weights = run_.workers.initial_weights();
  kept_->versions = publications_.own();
}

Recovery::~Recovery() = default;

// Checkpoints

bool Recovery::due(std::uint64_t version) const {
  if (!settings_.saves() || taken_) return false;
  if (settings_.every_updates > 0) return version >= kept_->version + settings_.every_updates;
  return run_.world.now() - worked_since_ >= settings_.every;
}

bool Recovery::published(PublishOperation& operation) {
  const Rank rank = operation.node().self();
  if (run_.world.has_server() && run_.world.is_worker(rank)) return true;
  const std::uint64_t version = operation.weights()->version;
  if (version > highest_) {
    highest_ = version;
    if (!at_ && due(version)) at_ = std::max(version, latest_start_ + 1);
  }
  if (at_ != version) return true;
  held_.push_back(&operation);
  begin_saving_if_all_came();
  return false;
}

void Recovery::left(const PublishOperation& operation) noexcept { std::erase(held_, &operation); }

std::size_t Recovery::awaited() const {
  if (run_.world.has_server()) return 1;
  return static_cast<std::size_t>(run_.workers.members());
}

void Recovery::members_changed() { begin_saving_if_all_came(); }

void Recovery::started(std::uint64_t version) {
  if (run_.world.has_server()) return;
  latest_start_ = std::max(latest_start_, version);
  if (at_ && version >= *at_) at_ = version + 1;  // nobody has reached it, and all members will
}

void Recovery::remember(Snapshot& snapshot, const Node& node, const Weights& weights, bool publishes) const {
  snapshot.nodes[node.self()] = node.saved(publishes ? &weights : nullptr);
}

void Recovery::begin_saving_if_all_came() {
  if (snapshotting_ || held_.empty() || held_.size() < awaited()) return;
  snapshotting_ = true;
  taken_ = std::make_shared<Snapshot>();
  taken_->version = *at_;
  taken_->weights = recorder_.latest();
  taken_->pool = run_.workers.pool();
  taken_->versions = publications_.own();
  run_.workers.for_each_node([this](const Node& node) { remember(*taken_, node, {}, false); });
  for (const PublishOperation* operation : held_) {
    const Rank rank = operation->node().self();
    taken_->own[rank] = operation->weights();
    remember(*taken_, run_.workers.node(rank), operation->weights(), true);
  }
  recorder_.begin_checkpoint(run_.world.now());
  set_saving(true);
  saving_->set(settings_.snapshot, [this] { snapshot_over(); });
}

void Recovery::set_saving(bool on) {
  for (Rank worker = 0; worker < run_.world.workers; ++worker) run_.books.times().set_saving(worker, run_.world.now(), on);
}

void Recovery::snapshot_over() {
  snapshotting_ = false;
  at_.reset();
  set_saving(false);
  worked_since_ = run_.world.now();
  if (settings_.write == Time()) write_over();
  recorder_.resume(run_.world.now());
  if (taken_) saving_->set(settings_.write, [this] { write_over(); });
  membership_.may_start();
  for (PublishOperation* operation : std::exchange(held_, {})) operation->complete();
}

void Recovery::write_over() {
  kept_ = std::exchange(taken_, nullptr);
  recorder_.saved(run_.world.now());
}

// Failures

bool Recovery::takes(const Failure& failure) const {
  return settings_.by_worker || failure.unit.kind == UnitKind::all || !failure.lost_servers.empty();
}

bool Recovery::failed(const Failure& failure) {
  if (publications_.is_over()) return true;
  if (!takes(failure)) {
    for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker) to_restore_.erase(worker);
    return false;
  }
  const Rank server = run_.world.workers;
  const bool takes_server = run_.world.has_server() && (failure.unit.kind == UnitKind::all || !failure.lost_servers.empty());
  std::vector<Rank> ranks;
  for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker)
    if (!down_.contains(worker) && run_.workers.is_up(worker)) ranks.push_back(worker);
  if (takes_server && !down_.contains(server)) ranks.push_back(server);
  if (ranks.empty()) return true;
  if (failure.unit.kind == UnitKind::all && spares_ > 0) ranks = {0};  // one of its machines has failed, whichever
  if (stage_ == Stage::working) stop_all();
  stage_ = Stage::detecting;
  for (const Rank rank : ranks) {
    in_repair_ += failure.back ? 1 : 0;
    if (spares_ > 0 && run_.world.is_worker(rank))
      --spares_;
    else
      goes_down(rank);
  }
  recovering_->set(settings_.detect, [this] { detected(); });
  return true;
}

void Recovery::goes_down(Rank rank) {
  if (!down_.insert(rank).second || !run_.world.is_worker(rank)) return;
  run_.books.times().set_down(rank, run_.world.now(), true);
  computations_.set_down(rank, true);
  if (run_.workers.change()) run_.workers.set_state(rank, Workers::State::crashed);
}

bool Recovery::repaired(const Failure& failure) {
  const Rank server = run_.world.workers;
  if (down_.contains(server) && membership_.servers_are_there()) {
    down_.erase(server);
    if (in_repair_ > 0) --in_repair_;
  }
  const bool one_machine = failure.unit.kind == UnitKind::all && !failure.workers.empty() && !down_.contains(failure.workers.begin);
  const Rank end = one_machine ? failure.workers.begin + 1 : failure.workers.end;
  for (Rank worker = failure.workers.begin; worker < end; ++worker) {
    if (membership_.is_down(worker)) continue;  // with another unit
    if (!settings_.by_worker && !down_.contains(worker)) {
      if (run_.workers.state(worker) == Workers::State::crashed) comes(worker);
      continue;
    }
    if (in_repair_ > 0) --in_repair_;
    // Where a spare has its place, it takes that of another, or becomes a spare.
    const Rank place = down_.contains(worker) ? worker : down_.empty() ? server : *down_.begin();
    if (place == server)
      ++spares_;
    else
      comes(place);
  }
  if (stage_ == Stage::waiting) restart_if_possible();
  return true;
}

/// It is there again: it starts with the others, or gets its state from them.
void Recovery::comes(Rank worker) {
  down_.erase(worker);
  if (stage_ == Stage::working) return membership_.fetch_state({&worker, 1});
  run_.books.times().set_down(worker, run_.world.now(), false);
  computations_.set_down(worker, false);
  if (run_.workers.change()) run_.workers.set_state(worker, Workers::State::coming);
}

/// Work stops, and what came after the latest checkpoint is lost.
void Recovery::stop_all() {
  const Time now = run_.world.now();
  saving_->cancel();
  held_.clear();
  at_.reset();
  taken_.reset();
  set_saving(false);
  snapshotting_ = false;
  run_.workers.kill_all();
  to_restore_.clear();
  collectives_.reset();
  post_office_.lose_all();
  for (Rank worker = 0; worker < run_.world.workers; ++worker) {
    run_.books.times().set_recovering(worker, now, true);
    computations_.start_loader_again(worker);
  }
  recorder_.roll_back(now);
  publications_.roll_back(kept_->versions, collectives_.of_versions());
  highest_ = latest_start_ = kept_->version;
}

void Recovery::detected() {
  stage_ = Stage::waiting;
  restart_if_possible();
}

void Recovery::restart_if_possible() {
  const bool server_down = down_.contains(run_.world.workers);
  const auto up = static_cast<std::size_t>(run_.world.workers) - (down_.size() - (server_down ? 1 : 0));
  const bool enough = !server_down && (settings_.shrinks ? up > 0 : down_.empty());
  if (enough) {
    stage_ = Stage::restarting;
    recovering_->set(settings_.restart, [this] { restarted(); });
  } else if (in_repair_ == 0) {
    const Rank first = *down_.begin();
    recorder_.record().stalled =
        "all wait for the repair of " + run_.workers.plan().name_of(first) + ", which never comes; add spares, or a repair";
    recorder_.record().warnings.push_back("the run stalled: " + recorder_.record().stalled);
    publications_.end_run(Outcome::stalled);
  }
}

void Recovery::restarted() {
  const Time now = run_.world.now();
  stage_ = Stage::working;
  for (Rank worker = 0; worker < run_.world.workers; ++worker) run_.books.times().set_recovering(worker, now, false);
  worked_since_ = now;
  recorder_.restart(now);
  start_all();
}

const Weights& Recovery::weights_of(Rank rank) const {
  const auto own = kept_->own.find(rank);
  return own == kept_->own.end() ? kept_->weights : own->second;
}

bool Recovery::is_not_in_checkpoint(Rank worker) const {
  return settings_.by_worker && !run_.world.has_server() && !kept_->own.empty() && !kept_->own.contains(worker);
}

void Recovery::start_all() {
  run_.workers.set_pool(kept_->pool);
  run_.workers.forget_means();
  static const SavedNode fresh;
  run_.workers.for_each_node([this](Node& node) {
    const auto saved = kept_->nodes.find(node.self());
    const bool is_told = run_.world.has_server() && run_.world.is_worker(node.self());
    const Weights weights = weights_of(node.self());
    node.start_again(saved == kept_->nodes.end() ? fresh : saved->second, is_told ? node.algebra().as_sent(weights) : weights);
  });
  for (Rank worker = 0; worker < run_.world.workers; ++worker)
    if (is_not_in_checkpoint(worker) && run_.workers.is_up(worker)) run_.workers.set_state(worker, Workers::State::coming);
  membership_.rolled_back(kept_->own.empty() ? std::vector<Handle>() : kept_->nodes.at(kept_->own.begin()->first).optimizer);
  if (run_.world.has_server()) run_.workers.spawn_server();
  run_.workers.spawn_aggregators();
  start_workers();
}

void Recovery::start_workers() {
  std::vector<Rank> others;
  for (Rank worker = 0; worker < run_.world.workers; ++worker) {
    if (run_.workers.acts_when_invited()) {
      run_.workers.idles_again(worker);
      if (run_.workers.state(worker) == Workers::State::coming) run_.workers.set_state(worker, Workers::State::member);
    } else if (!settings_.by_worker) {
      if (!run_.workers.is_up(worker)) continue;
      to_restore_.insert(worker);
      membership_.fetch_state({&worker, 1});
    } else if (!down_.contains(worker)) {
      const Workers::State state = run_.workers.state(worker);
      if (state == Workers::State::coming && is_not_in_checkpoint(worker)) {
        others.push_back(worker);
        continue;
      }
      if (state == Workers::State::coming) run_.workers.set_state(worker, Workers::State::member);
      if (state != Workers::State::member && state != Workers::State::coming) continue;
      run_.workers.comes_in_step(worker);
      run_.workers.spawn_worker(worker);
    } else if (publications_.remove_worker(worker)) {
      return;
    }
  }
  membership_.start_from_saved(others);
}

}  // namespace straggler
