// Entries that join a registry while the program runs.
#pragma once
#include <utility>

#include "sim/base/registry.hpp"

namespace straggler {

/// The entry replaces one of the same name, if any. Entries move: no pointer to one may be in use.
template <class Entry>
void register_or_replace(Entry entry) {
  Registry<Entry>& registry = Registry<Entry>::instance();
  Registry<Entry> all;
  for (const Entry& each : registry.entries())
    if (each.name != entry.name) all.add(each);
  all.add(std::move(entry));
  registry = std::move(all);
}

}  // namespace straggler
