#include "sim/simulated/shared_loader.hpp"

#include <algorithm>

namespace straggler {

std::uint32_t SharedLoader::add(Rank worker, const ComputeClass& own) {
  Customer& customer = all_.emplace_back();
  customer.rank = worker;
  customer.own = &own;
  customer.processes.resize(own.processes());
  return static_cast<std::uint32_t>(all_.size() - 1);
}

bool SharedLoader::take(std::uint32_t number, const Wanted& wanted) {
  settle();
  Customer& own = all_[number];
  const Time start = Time::from_ticks(own.own->loader_start.ticks() * own.own->loaders);
  if (!own.runs || (start > Time() && own.last.epoch != wanted.epoch)) {
    start_again(number);
    own.runs = true;
    own.since = queue_.now();
    own.starts = start > Time();
    if (own.starts) begin(number, starting, start);
  }
  own.usual = wanted.pass > 0 && wanted.left == 0 ? std::max(own.usual, wanted.samples) : wanted.samples;
  own.last = wanted;
  const Process& process = own.processes[own.asked++ % own.processes.size()];
  const bool there = own.taken + 1 == own.asked && process.next >= own.asked;
  if (there) ++own.taken;
  begin_where_room_is(number);
  reschedule();
  return there;
}

void SharedLoader::start_again(std::uint32_t number) {
  settle();
  std::erase_if(jobs_, [&](const Job& job) { return job.customer == number; });
  Customer& own = all_[number];
  own.asked = own.taken = 0;
  own.runs = own.starts = false;
  for (std::size_t p = 0; p < own.processes.size(); ++p) own.processes[p] = {.next = p};
  reschedule();
}

void SharedLoader::stand(Time span) {
  settle();
  stands_until_ = std::max(stands_until_, queue_.now()) + span;
  reschedule();
}

Time SharedLoader::longest_start() const {
  Time longest;
  for (const Customer& each : all_) longest = std::max(longest, each.starting);
  return longest;
}

/// Without processes the worker prepares what it has asked for.
void SharedLoader::begin_where_room_is(std::uint32_t number) {
  Customer& own = all_[number];
  if (own.starts) return;
  const std::uint64_t until = own.own->loaders == 0 ? own.asked : own.taken + std::uint64_t{own.own->loaders} * own.own->prefetch;
  for (std::uint32_t p = 0; p < own.processes.size(); ++p) {
    Process& process = own.processes[p];
    if (process.works || process.next >= until) continue;
    process.works = true;
    begin(number, p, Time::from_seconds(own.own->load_seconds_per_sample * static_cast<double>(size_of(own, process.next))));
  }
}

std::int64_t SharedLoader::size_of(const Customer& own, std::uint64_t batch) const {
  if (batch < own.asked) return own.last.samples;
  const auto ahead = static_cast<std::int64_t>(batch - own.asked);
  const auto [samples, left, pass, epoch] = own.last;
  const auto batches = [&](std::int64_t all) { return (all + own.usual - 1) / own.usual; };
  if (pass == 0) return own.usual;
  if (ahead < batches(left)) return std::min(own.usual, left - ahead * own.usual);
  return std::min(own.usual, pass - (ahead - batches(left)) % batches(pass) * own.usual);
}

void SharedLoader::end(const Job& job) {
  Customer& own = all_[job.customer];
  const bool waits = own.taken < own.asked;
  if (job.process == starting) {
    own.starts = false;
  } else {
    Process& process = own.processes[job.process];
    process.works = false;
    process.next += own.processes.size();
    while (own.taken < own.asked && own.processes[own.taken % own.processes.size()].next > own.taken)
      if (own.taken++ == 0 && own.own->loaders > 0) own.starting += queue_.now() - own.since;
  }
  begin_where_room_is(job.customer);
  if (waits && own.taken == own.asked) customers_.prepared(own.rank);
}

double SharedLoader::rate() const { return std::min(1.0, cores_ / static_cast<double>(jobs_.size())); }

void SharedLoader::settle() {
  const Time from = std::max(since_, stands_until_), now = queue_.now();
  since_ = now;
  if (jobs_.empty())
    done_ = 0;
  else if (now > from)
    done_ += static_cast<double>((now - from).ticks()) * rate();
}

/// After settle().
void SharedLoader::reschedule() {
  cancel();
  if (jobs_.empty()) return;
  const Time stands = std::max(stands_until_, queue_.now()) - queue_.now();
  queue_.after(queue_.span(static_cast<double>(stands.ticks()) + std::max(0.0, jobs_.begin()->end - done_) / rate()), *this);
}

void SharedLoader::happen() {
  settle();
  do {
    const Job job = *jobs_.begin();
    jobs_.erase(jobs_.begin());
    end(job);
  } while (!jobs_.empty() && jobs_.begin()->end <= done_);
  reschedule();
}

}  // namespace straggler
