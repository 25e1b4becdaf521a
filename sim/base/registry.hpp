// Registries: tables of (name, one-line summary, parameters, factory). They drive `straggler list`, the messages about
// unknown names and the contract tests. An entry registers itself from its own file.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parameters.hpp"

namespace straggler {

/// `Entry` has at least `std::string name, summary; DeclaredParameters parameters;`.
template <class Entry>
class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }
  /// Throws std::logic_error if the name is taken.
  void add(Entry entry) {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), entry.name, [](const Entry& a, const std::string& b) { return a.name < b; });
    if (at != entries_.end() && at->name == entry.name) throw std::logic_error("registered twice: " + entry.name);
    entries_.insert(at, std::move(entry));
  }
  /// In alphabetical order, whatever the order of linking.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Null if unknown.
  const Entry* find(std::string_view name) const {
    for (const Entry& entry : entries_)
      if (entry.name == name) return &entry;
    return nullptr;
  }
  /// Throws std::invalid_argument that lists the known names.
  const Entry& at(std::string_view name) const {
    if (const Entry* entry = find(name)) return *entry;
    throw std::invalid_argument("unknown name '" + std::string(name) + "'; known: " + names());
  }
  std::string names() const {
    std::string all;
    for (const Entry& entry : entries_) all += (all.empty() ? "" : ", ") + entry.name;
    return all;
  }

 private:
  std::vector<Entry> entries_;
};

/// `const Register<SchemeEntry> entry({...});` in an unnamed namespace of the entry's file, which must be linked as an object.
template <class Entry>
struct Register {
  explicit Register(Entry entry) { Registry<Entry>::instance().add(std::move(entry)); }
};

}  // namespace straggler
