// Capacities that change in time, by the caller or by a token bucket, and the bytes that they could have carried.
#include <algorithm>
#include <limits>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {

Sharing::~Sharing() {
  for (const Bucket& bucket : buckets_) {
    if (bucket.timed) queue_.cancel(bucket.timer);
  }
}

void Sharing::set_capacity(LinkId l, double bytes_per_tick) {
  keep_account(l);
  if (!links_[l].bucket) return change_capacity(l, bytes_per_tick);
  Bucket& its = bucket(l);
  its.advance(now());
  its.committed = bytes_per_tick;
  its.peak = bytes_per_tick * its.ratio;
  change_capacity(l, its.open ? its.peak : its.committed);
}

void Sharing::change_capacity(LinkId l, double bytes_per_tick) {
  Link& link = links_[l];
  if (link.flows == 0 || link.capacity == bytes_per_tick) {
    link.capacity = bytes_per_tick;
    return;
  }
  if (!contention_) return change_solo_capacity(l, bytes_per_tick);
  drop_hubs_around(l);
  // Bytes until now flowed at the old capacity. A group keeps its level until it is settled; a solo flow follows the capacity itself.
  scratch_.clear();
  for_each_flow(l, [&](FlowIndex i) {
    if (flows_[i].state == FlowState::solo && flows_[i].bound == l) scratch_.push_back(i);
  });
  for (const FlowIndex i : scratch_) {
    const double bytes = remaining(flows_[i]), old = level(flows_[i]);
    unbind(i);
    advanced_group(l).level = old;
    bind(i, l, bytes);
  }
  link.capacity = bytes_per_tick;
  link.entangled = true;
  disturb(l, Disturbance::capacity);
}

/// Without contention each flow has the rate of its narrowest link at the moment.
void Sharing::change_solo_capacity(LinkId l, double bytes_per_tick) {
  scratch_.clear();
  for_each_flow(l, [&](FlowIndex i) {
    scratch_.push_back(i);
    flows_[i].bytes = remaining(flows_[i]);
    flows_[i].since = now();
  });
  links_[l].capacity = bytes_per_tick;
  for (const FlowIndex i : scratch_) {
    const double bytes = flows_[i].bytes;
    unbind(i);
    bind_solo(i, narrowest(flows_[i]), bytes);
  }
}

// Accounts

void Sharing::keep_account(LinkId l) {
  Link& link = links_[l];
  const std::int64_t busy = busy_ticks(link);
  // Bytes may have passed a very fast link in less than a tick: they were carried at this capacity all the same.
  if (busy == 0 && link.promised == 0 && !link.unsteady) return;
  Account& account = accounts_[l];
  account.bytes += committed(l) * static_cast<double>(busy - account.busy);
  account.busy = busy;
  account.highest = std::max(account.highest, link.capacity);
  link.unsteady = true;
}

double Sharing::carriable(LinkId l) const {
  const Link& link = links_[l];
  const Account account = link.unsteady ? accounts_.at(l) : Account{};
  const double bytes = account.bytes + committed(l) * static_cast<double>(busy_ticks(link) - account.busy);
  if (!link.bucket) return bytes;
  Bucket its = bucket(l);
  its.advance(now());
  return bytes + its.burst + its.regained;
}

double Sharing::highest_capacity(LinkId l) const {
  const Link& link = links_[l];
  const double now = link.bucket ? bucket(l).peak : link.capacity;
  return link.unsteady ? std::max(now, accounts_.at(l).highest) : now;
}

// Token buckets (bucket.hpp)

void Sharing::set_bucket(LinkId l, double burst, double peak) {
  if (buckets_.empty()) bucket_kind_ = queue_.register_handler(&Sharing::on_bucket, this);
  Link& link = links_[l];
  if (!link.bucket) {
    bucket_of_.resize(std::max(bucket_of_.size(), std::size_t{l} + 1));
    bucket_of_[l] = static_cast<std::uint32_t>(buckets_.size());
    buckets_.emplace_back();
    buckets_.back().committed = link.capacity;
  }
  Bucket& its = bucket(l);
  its.link = l;
  its.peak = peak;
  its.ratio = peak / its.committed;
  its.burst = its.tokens = burst;
  link.capacity = peak;
  link.bucket = link.general = link.entangled = true;
}

void Sharing::empty_bucket(std::uint32_t index) {
  Bucket& its = buckets_[index];
  its.timed = its.open = false;
  ++its.closings;
  its.advance(now());
  change_capacity(its.link, its.committed);
}

void Sharing::look_into_bucket(LinkId l) {
  Bucket& its = bucket(l);
  its.advance(now());
  if (its.open || its.tokens < its.opening()) return;
  its.open = true;
  links_[l].capacity = its.peak;
}

void Sharing::weigh_bucket(LinkId l) {
  Bucket& its = bucket(l);
  const Link& link = links_[l];
  its.idle = link.flows == 0;
  its.load = 0;
  if (link.bound > 0) {
    its.load = link.capacity;
  } else {
    for_each_flow(l, [&](FlowIndex i) { its.load += level(flows_[i]) * flows_[i].weight * flows_[i].volume(l); });
  }
  if (its.timed) queue_.cancel(its.timer);
  its.timed = false;
  if (!its.open || its.load <= its.committed) return;
  const Time empty = done_at(now(), its.tokens, its.load - its.committed);
  if (empty > Time::limit()) return;
  its.timer = queue_.at(empty, bucket_kind_, bucket_of_[l]);
  its.timed = true;
}

}  // namespace straggler::fluid
