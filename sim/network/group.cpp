#include "sim/network/group.hpp"

#include <algorithm>

namespace straggler::fluid {

const Tag* Group::first_of_all(const FlowTable& flows) {
  while (!in_order.empty() && !is_live(flows, in_order.front())) in_order.pop_front();
  drop_stale_top<SmallestKeyFirst>(others, flows);
  if (in_order.empty()) return others.empty() ? nullptr : &others.front();
  return !others.empty() && others.front().key < in_order.front().key ? &others.front() : &in_order.front();
}

void Group::pop_first_of_all() {
  if (in_order.empty() || (!others.empty() && others.front().key < in_order.front().key)) {
    pop_tag<SmallestKeyFirst>(others);
  } else {
    in_order.pop_front();
  }
}

bool Group::done_by(double bytes, Time now) const { return done_at(since, bytes, level) <= now; }

void Group::drop_stale(const FlowTable& flows) {
  in_order.keep_if([&](const Tag& tag) { return is_live(flows, tag); });
  drop_all_stale<SmallestKeyFirst>(others, flows);
}

void Group::set_back(FlowTable& flows) {
  drop_stale(flows);
  const auto shift = [&](Tag& tag) {
    tag.key -= virtual_time;
    flows[tag.flow].bytes = tag.key;
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) shift(in_order[i]);
  for (Tag& tag : others) shift(tag);
  std::make_heap(others.begin(), others.end(), SmallestKeyFirst{});  // rounding may have made ties
  virtual_time = 0;
  added = 0;
}

}  // namespace straggler::fluid
