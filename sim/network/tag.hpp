// A flow's entry in a heap of its group, deleted lazily.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/network/flow.hpp"

namespace straggler::fluid {

struct Tag {
  double key;  // finish tag (groups) or level of the cap (hubs)
  FlowIndex flow;
  std::uint32_t stamp;
};

inline bool is_live(const FlowTable& flows, const Tag& tag) { return flows[tag.flow].stamp == tag.stamp; }

/// Orders of heaps of tags, total: ties go to the flow.
struct LargestKeyFirst {
  bool operator()(const Tag& a, const Tag& b) const { return a.key < b.key || (a.key == b.key && a.flow < b.flow); }
};
struct SmallestKeyFirst {
  bool operator()(const Tag& a, const Tag& b) const { return a.key > b.key || (a.key == b.key && a.flow > b.flow); }
};

template <class Order>
void push_tag(std::vector<Tag>& heap, const Tag& tag) {
  heap.push_back(tag);
  std::push_heap(heap.begin(), heap.end(), Order{});
}

template <class Order>
void pop_tag(std::vector<Tag>& heap) {
  std::pop_heap(heap.begin(), heap.end(), Order{});
  heap.pop_back();
}

/// Makes the top live, or empties the heap.
template <class Order>
void drop_stale_top(std::vector<Tag>& heap, const FlowTable& flows) {
  while (!heap.empty() && !is_live(flows, heap.front())) pop_tag<Order>(heap);
}

template <class Order>
void drop_all_stale(std::vector<Tag>& heap, const FlowTable& flows) {
  std::erase_if(heap, [&](const Tag& tag) { return !is_live(flows, tag); });
  std::make_heap(heap.begin(), heap.end(), Order{});
}

}  // namespace straggler::fluid
