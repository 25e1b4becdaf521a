#include "sim/simulated/computations.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace straggler {

Computations::Computations(World& world, TimeAccounts& times)
    : world_(world), simulation_(world.simulation), times_(times), plan_(std::move(world.cluster.compute)) {
  for (const ComputeClass& each : plan_.classes)
    if (each.milestones.size() >= loading)
      throw std::invalid_argument("a gradient leaves in " + std::to_string(each.milestones.size()) + " buckets, more than " +
                                  std::to_string(loading - 1) + "; take larger ones");
  managed_ = plan_.speeds_change || !plan_.hosts.empty() || plan_.interference > 0;
  if (managed_) jobs_.resize(plan_.compute_of.size());
  for (std::size_t h = 0; h < plan_.hosts.size(); ++h) {
    const SharedHost& host = plan_.hosts[h];
    for (const Rank worker : host.workers) jobs_[index_of(worker)].host = static_cast<std::uint32_t>(h);
    active_.push_back(host.busy_waiting ? static_cast<double>(host.workers.size()) : 0);
  }
  if (std::any_of(plan_.classes.begin(), plan_.classes.end(), loads)) loaders_.resize(plan_.compute_of.size());
  if (times_.sink()) begun_.resize(plan_.compute_of.size());
  if (!plan_.loader_hosts.empty()) seats_.resize(plan_.compute_of.size());
  SharedLoader::Customers& customers = *this;
  for (const LoaderHost& host : plan_.loader_hosts) {
    const auto h = static_cast<std::uint32_t>(shared_loaders_.size());
    SharedLoader& loader = *shared_loaders_.emplace_back(std::make_unique<SharedLoader>(simulation_.queue(), customers, host.cores));
    for (const Rank worker : host.workers) {
      seats_[index_of(worker)].host = h;
      seats_[index_of(worker)].number = loader.add(worker, class_of(worker));
    }
  }
}

std::span<const double> Computations::milestones(const ComputeOperation& operation) const {
  static constexpr double whole[] = {1};
  if (operation.kind() != Operation::Kind::averaged_gradient) return whole;
  return class_of(operation.node().self()).milestones;
}

double Computations::share_until(const ComputeOperation& operation, std::size_t milestone) const {
  const std::span<const double> shares = milestones(operation);
  if ((plan_.encoding.empty() && plan_.price == Time()) || milestone + 1 == shares.size()) return shares[milestone];
  const auto all = static_cast<double>(operation.span.ticks()), price = static_cast<double>(plan_.price.ticks());
  if (plan_.encoding.empty()) return shares[milestone] * (all - price) / all;
  const auto encoding = static_cast<double>(plan_.encoding[class_number(operation.node().self())].ticks());
  return (shares[milestone] * (all - encoding - price) + plan_.encoded[milestone] * encoding) / all;
}

void Computations::start(ComputeOperation& operation, std::uint64_t call) {
  const std::optional<Time> there = loaders_.empty() ? now() : loaded(operation);
  if (there) return start_at(operation, call, now(), *there);
  operation.milestone() = loading;
  seats_[index_of(operation.node().self())].call = call;
}

void Computations::start_at(ComputeOperation& operation, std::uint64_t call, Time asked, Time there) {
  const Rank rank = operation.node().self();
  try {
    const DrawnBatch& batch = operation.batch();
    operation.span = plan_.duration(rank, {batch.work, batch.size, batch.number, batch.offset}, call, there);
    if (operation.kind() == Operation::Kind::averaged_gradient && !plan_.encoding.empty())
      operation.span += plan_.encoding[class_number(rank)];
    if (operation.kind() != Operation::Kind::gradient) operation.span += plan_.price;
  } catch (const TimeOverflow&) {
    if (!simulation_.queue().stops_before_limit()) throw;
    operation.span = Time::limit();  // the run stops first
  }
  if (rebalancing_) rebalancing_->loads(rank, there - asked);
  if (operation.kind() == Operation::Kind::slice) {
    auto& slice = static_cast<SliceOperation&>(operation);
    WorkProgress& progress = slice.progress();
    progress.begun = true;
    progress.span = operation.span;
    operation.span = progress.done = time_until(slice);
  }
  if (there == now() && asked == now()) return begin(operation);
  if (computes(operation)) times_.set_loading(rank, now(), true);
  operation.milestone() = loading;
  simulation_.queue().at(there, operation);
}

void Computations::go_on(SliceOperation& operation) {
  WorkProgress& progress = operation.progress();
  const Time until = time_until(operation);
  operation.span = until - progress.done;
  progress.done = until;
  begin(operation);
}

Time Computations::time_until(const SliceOperation& operation) const {
  const ComputeClass& own = class_of(operation.node().self());
  const SliceOperation::Point& point = operation.until();
  const Time span = operation.progress().span;
  if (point.ends) return span;
  // A smaller last batch may have fewer micro-batches than the others: equal ones.
  const auto end_of = [&](std::int64_t micro) {
    if (own.micro_batches.size() == static_cast<std::size_t>(point.micro_batches))
      return own.micro_batches[static_cast<std::size_t>(micro)];
    return static_cast<double>(micro + 1) / static_cast<double>(point.micro_batches);
  };
  const double begin = point.micro == 0 ? 0 : end_of(point.micro - 1);
  const double inside = point.backward ? own.forward + (1 - own.forward) * point.share : own.forward * point.share;
  const double share = begin + (end_of(point.micro) - begin) * inside;
  return std::min(span, Time::round_up(static_cast<double>((span - plan_.price).ticks()) * share));
}

bool Computations::start_host_work(HostOperation& operation) {
  const HostWork& work = operation.work();
  if (work.loader_stands) stall_loader(operation.node().self(), work.span);
  const Time done = (work.ahead ? host_free_ : now()) + work.span;
  host_free_ = std::max(now(), done);
  if (done <= now()) return true;
  simulation_.queue().at(done, operation);
  return false;
}

void Computations::begin(ComputeOperation& operation) {
  const Rank rank = operation.node().self();
  operation.milestone() = 0;
  times_.begin_compute(rank, now());
  if (!begun_.empty()) begun_[index_of(rank)] = now();
  set_computing(rank, !paused_);
  if (!managed_) return schedule_next(operation);
  Job& job = jobs_[index_of(rank)];
  job.operation = &operation;
  job.done = 0;
  job.since = now();
  if (shares_memory(job)) job.traffic = traffic_of(operation);
  if (paused_) times_.set_paused(rank, now(), true);
  if (job.host != ~0u && !plan_.hosts[job.host].busy_waiting) {
    ++active_[job.host];
    change_host(job);
  } else {
    change(job);
  }
}

/// Those of a slice's whole batch are spread over it.
double Computations::traffic_of(const ComputeOperation& operation) const {
  const ComputeClass& own = class_of(operation.node().self());
  const bool slice = operation.kind() == Operation::Kind::slice;
  const Time span = slice ? static_cast<const SliceOperation&>(operation).progress().span : operation.span;
  if (span == Time()) return 0;
  const auto samples = static_cast<double>(operation.batch().size);
  const double pieces = std::min(samples, static_cast<double>(own.micro_batches.size()));
  return (own.traffic * pieces + own.traffic_per_sample * samples) / static_cast<double>(span.ticks());
}

/// At full speed.
void Computations::schedule_next(ComputeOperation& operation) {
  if (operation.kind() != Operation::Kind::averaged_gradient) return simulation_.queue().after(operation.span, operation);  // in one piece
  const auto end_of = [&](std::size_t milestone) {
    const double share = share_until(operation, milestone);
    return share >= 1 ? operation.span : Time::round_up(static_cast<double>(operation.span.ticks()) * share);
  };
  const Time before = operation.milestone() == 0 ? Time() : end_of(operation.milestone() - 1u);
  simulation_.queue().after(end_of(operation.milestone()) - before, operation);
}

std::size_t Computations::due(ComputeOperation& operation) {
  const Rank worker = operation.node().self();
  if (operation.milestone() == loading) {
    times_.set_loading(worker, now(), false);
    begin(operation);
    return 0;
  }
  const std::size_t passed = ++operation.milestone();
  if (passed < milestones(operation).size()) {
    if (managed_)
      change(jobs_[index_of(worker)]);
    else
      schedule_next(operation);
    return passed;
  }
  if (!begun_.empty()) trace_backward(operation);
  operation.span = times_.end_compute(worker, now());
  if (rebalancing_) {
    const Time price = operation.kind() == Operation::Kind::averaged_gradient ? plan_.price : Time();
    rebalancing_->computed(worker, operation.batch().size, operation.span - price);
  }
  set_computing(worker, false);
  if (managed_) {
    Job& job = jobs_[index_of(worker)];
    job.operation = nullptr;
    leave_host(job);
  }
  return passed;
}

/// In ticks of work at full speed. Where its speed changed meanwhile, that is spread evenly.
void Computations::trace_backward(const ComputeOperation& operation) const {
  const bool slice = operation.kind() == Operation::Kind::slice;
  if (!slice && milestones(operation).size() < 2) return;
  const Rank worker = operation.node().self();
  const ComputeClass& own = class_of(worker);
  const SliceOperation* const part = slice ? &static_cast<const SliceOperation&>(operation) : nullptr;
  const Time whole = part ? part->progress().span : operation.span, done = part ? part->progress().done : operation.span;
  const Time encoding = slice || plan_.encoding.empty() ? Time() : plan_.encoding[class_number(worker)];
  const double computed = static_cast<double>((whole - plan_.price - encoding).ticks());
  const double from = static_cast<double>((done - operation.span).ticks()), to = static_cast<double>(done.ticks());
  if (to <= from) return;
  const auto micros = part ? static_cast<std::size_t>(part->until().micro_batches) : own.micro_batches.size();
  const Time begun = begun_[index_of(worker)];
  const auto at = [&](double work) {
    return begun + Time::from_ticks(std::llround((work - from) / (to - from) * static_cast<double>((now() - begun).ticks())));
  };
  double start = 0;
  for (std::size_t micro = 0; micro < micros; ++micro) {
    const double end =
        own.micro_batches.size() == micros ? own.micro_batches[micro] : static_cast<double>(micro + 1) / static_cast<double>(micros);
    const double first = std::max(from, computed * (start + (end - start) * own.forward));
    const double last = std::min(to, computed * end + (micro + 1 == micros ? static_cast<double>(encoding.ticks()) : 0));
    if (last > first) times_.sink()->backward_pass(worker, at(first), at(last));
    start = end;
  }
}

void Computations::stop(ComputeOperation& operation) noexcept {
  const Rank worker = operation.node().self();
  if (operation.milestone() == loading) return stop_loading(worker);
  times_.discard_compute(worker, now());
  set_computing(worker, false);
  if (!managed_) return;
  Job& job = jobs_[index_of(worker)];
  if (paused_) times_.set_paused(worker, now(), false);
  job.operation = nullptr;
  leave_host(job);
}

void Computations::leave_host(const Job& job) {
  if (job.host == ~0u) return;
  const SharedHost& host = plan_.hosts[job.host];
  if (!host.busy_waiting) --active_[job.host];
  if (!host.busy_waiting || host.memory_bytes_per_tick > 0) change_host(job);
}

void Computations::share_inside_links(Rank worker, bool computes) {
  const double share = world_.cluster.share_while_computing;
  for (const LinkId link : world_.cluster.fabric->inside_links(worker))
    world_.network.set_capacity(link, world_.cluster.fabric->bytes_per_second(link) * (computes ? share : 1));
  if (on_levels_.empty()) {
    on_levels_.resize(plan_.compute_of.size());
    computing_.resize(world_.cluster.fabric->links());
  }
  if (on_levels_[index_of(worker)] == computes) return;
  on_levels_[index_of(worker)] = computes;
  for (const LevelLink& level : world_.cluster.fabric->level_links(worker)) {
    computing_[level.link] += computes ? 1 : -1u;
    const double slowed = static_cast<double>(computing_[level.link]) / level.workers;
    world_.network.set_capacity(level.link, world_.cluster.fabric->bytes_per_second(level.link) * (1 - (1 - share) * slowed));
  }
}

double Computations::own_rate(const Job& job) const {
  if (paused_) return 0;
  double rate = 1 / job.slowness;
  if (job.flights > 0 && job.operation->milestone() > 0) rate /= 1 + plan_.interference;
  if (job.host == ~0u) return rate;
  const SharedHost& host = plan_.hosts[job.host];
  const double active = active_[job.host];
  rate *= std::min(1.0, host.cores / active);
  if (host.per_neighbour > 0) rate /= 1 + host.per_neighbour * (active - 1);
  return rate;
}

void Computations::settle(Job& job) {
  job.done += static_cast<double>((now() - job.since).ticks()) * job.rate;
  job.since = now();
}

/// After settle().
void Computations::reschedule(Job& job) {
  if (!job.operation) return;
  job.rate = std::min(own_rate(job), job.memory_rate);
  job.operation->cancel();
  if (job.rate == 0) return;
  const double work = static_cast<double>(job.operation->span.ticks()) * share_until(*job.operation, job.operation->milestone());
  simulation_.queue().after(simulation_.queue().span(std::max(0.0, work - job.done) / job.rate), *job.operation);
}

void Computations::change_host(const Job& changed) {
  const SharedHost& host = plan_.hosts[changed.host];
  if (host.memory_bytes_per_tick > 0) share_memory(host);
  for (const Rank worker : host.workers) {
    Job& job = jobs_[index_of(worker)];
    if (!job.operation) continue;
    settle(job);
    reschedule(job);
  }
}

void Computations::change(Job& job) {
  if (shares_memory(job)) return change_host(job);
  settle(job);
  reschedule(job);
}

/// While all stand, nobody needs a share.
void Computations::share_memory(const SharedHost& host) {
  if (paused_) return;
  const auto shares = [&](const Job& job) { return job.operation && job.traffic > 0; };
  memory_.clear();
  memory_.capacity.push_back(host.memory_bytes_per_tick);
  for (const Rank worker : host.workers) {
    const Job& job = jobs_[index_of(worker)];
    if (!shares(job)) continue;
    memory_.weight.push_back(1);
    memory_.most.push_back(own_rate(job) * job.traffic);
    memory_.crossed.push_back(0);
    memory_.first.push_back(static_cast<std::uint32_t>(memory_.crossed.size()));
  }
  solver_.solve(memory_);
  std::size_t n = 0;
  for (const Rank worker : host.workers) {
    Job& job = jobs_[index_of(worker)];
    job.memory_rate = std::numeric_limits<double>::infinity();
    if (!shares(job)) continue;
    if (solver_.bottleneck()[n] != fluid::MaxMinSolver::own_most) job.memory_rate = solver_.level()[n] / job.traffic;
    ++n;
  }
}

void Computations::flight(Rank worker, bool begins) {
  Job& job = jobs_[index_of(worker)];
  const bool flew = job.flights > 0;
  job.flights += begins ? 1 : -1u;
  if (flew != (job.flights > 0) && job.operation) change(job);
}

void Computations::set_slowness(Rank worker, double times_slower) {
  Job& job = jobs_[index_of(worker)];
  settle(job);
  job.slowness = times_slower;
  if (job.operation) change(job);
}

void Computations::set_down(Rank worker, bool down) {
  start_loader_again(worker);
  if (!managed_) return;
  Job& job = jobs_[index_of(worker)];
  if (job.down == down) return;
  job.down = down;
  if (job.host == ~0u || !plan_.hosts[job.host].busy_waiting) return;
  active_[job.host] += down ? -1 : 1;
  change_host(job);
}

void Computations::pause() {
  for (Rank worker = 0; index_of(worker) < jobs_.size(); ++worker) {
    Job& job = jobs_[index_of(worker)];
    if (!job.operation) continue;
    settle(job);
    job.rate = 0;
    job.operation->cancel();
    times_.set_paused(worker, now(), true);
    set_computing(worker, false);
  }
  paused_ = true;
}

void Computations::resume() {
  paused_ = false;
  for (const SharedHost& host : plan_.hosts)
    if (host.memory_bytes_per_tick > 0) share_memory(host);
  for (Rank worker = 0; index_of(worker) < jobs_.size(); ++worker) {
    Job& job = jobs_[index_of(worker)];
    if (!job.operation) continue;
    settle(job);
    times_.set_paused(worker, now(), false);
    set_computing(worker, true);
    reschedule(job);
  }
}

}  // namespace straggler
