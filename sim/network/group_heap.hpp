// The groups by the moment at which each will finish its next flow.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/network/group.hpp"

namespace straggler::fluid {

/// An indexed 4-ary heap: a group knows its place, so its moment can change at any time. The order is (moment, link).
class GroupHeap {
 public:
  explicit GroupHeap(std::vector<Group>& groups) : groups_(groups) {}

  Time next() const { return heap_.empty() ? Time::never() : heap_[0].moment; }
  GroupIndex first() const { return heap_[0].group; }

  /// never() takes the group out.
  void set(GroupIndex g, Time moment) {
    Group& group = groups_[g];
    if (moment == Time::never()) {
      if (group.place != none) remove(group);
      return;
    }
    if (group.place == none) {
      group.place = static_cast<std::uint32_t>(heap_.size());
      heap_.emplace_back();
    }
    change(g, moment);
  }
  /// Its moment is past and the next one unknown: it keeps a place until set() is called.
  void put_off(GroupIndex g) { change(g, Time::never()); }

 private:
  struct Entry {
    Time moment;
    LinkId link;
    GroupIndex group;
    bool before(const Entry& o) const { return moment < o.moment || (moment == o.moment && link < o.link); }
  };

  void change(GroupIndex g, Time moment) {
    const Group& group = groups_[g];
    const Entry entry{moment, group.link, g};
    if (heap_.size() == 1) {  // one shared link: a star's server
      heap_[0] = entry;
    } else {
      restore(group.place, entry);
    }
  }
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    groups_[entry.group].place = static_cast<std::uint32_t>(place);
  }
  void remove(Group& group) {
    const std::size_t place = group.place;
    group.place = none;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) restore(place, last);
  }
  /// Puts the entry at the free place, or at its proper place above or below it.
  void restore(std::size_t place, const Entry& entry) {
    while (place > 0 && entry.before(heap_[(place - 1) / 4])) {
      put(place, heap_[(place - 1) / 4]);
      place = (place - 1) / 4;
    }
    for (;;) {
      const std::size_t begin = 4 * place + 1, end = std::min(begin + 4, heap_.size());
      if (begin >= end) break;
      std::size_t least = begin;
      for (std::size_t k = begin + 1; k < end; ++k) {
        if (heap_[k].before(heap_[least])) least = k;
      }
      if (!heap_[least].before(entry)) break;
      put(place, heap_[least]);
      place = least;
    }
    put(place, entry);
  }

  std::vector<Group>& groups_;
  std::vector<Entry> heap_;
};

}  // namespace straggler::fluid
