// Workers that publish their own weights on real ranks. No rank waits for another: each reports its publications and their times to the
// publishing rank, beside the scheme's messages and in no account. That rank determines the versions (OwnVersions), the stop, and the
// versions to evaluate. If workers run free it also determines the order of versions, which a replay forces: the order of arrival, but no
// version before its inputs. The weights stay on their ranks until the run ends; then their means are made.
#include <algorithm>
#include <set>
#include <utility>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

namespace {

/// Its value by name only: another rank has it, or keeps it elsewhere.
Weights by_name(Weights weights) {
  const Handle value(weights->value.key());
  weights.edit().value = value;
  return weights;
}

}  // namespace

void MpiBackend::publish_own(const PublishOperation& operation, Time when) {
  Weights named = operation.weights();
  if (runs_free()) {
    if (is_late(when)) return;
    free_.values[named->value.key()] = named->value;
  } else {
    own_.values[named->version] = named->value;
  }
  named = by_name(std::move(named));
  if (publishes()) {
    own_.versions->publish(node_.self(), named, operation.made(), when);
    return take_own_versions();
  }
  if (!operation.made().empty()) named.edit().more.edit().made = operation.made();
  Packer packer;
  packer.put(when.ticks());
  pack_names(Payload(named), packer);
  channel_.send(publisher_, MessageKind::published, std::make_shared<const Bytes>(packer.take()), nullptr);
}

/// Until every rank has said goodbye: a run that stops at a time may still be notified of earlier versions.
void MpiBackend::take_publication(Rank from, const Bytes& bytes) {
  Unpacker unpacker(bytes);
  const Time when = Time::from_ticks(unpacker.get<std::int64_t>());
  const Weights weights = by_name(std::get<Weights>(unpack_names(values_, unpacker)));
  if (runs_free() && is_late(when)) return;
  own_.versions->publish(from, weights, weights->made(), when);
  take_own_versions();
}

/// The rank that made the average keeps it: it counts for both from the next version that either makes.
void MpiBackend::averaged(Rank teller, const Averaging& averaging) {
  if (!runs_free()) return;
  values_.of(averaging.mixed->value);
  if (teller == averaging.at) free_.values[averaging.mixed->value.key()] = averaging.mixed->value;
  Averaging named = averaging;
  named.mixed = by_name(named.mixed);
  if (publishes()) {
    own_.versions->averaged(teller, named);
    return take_own_versions();
  }
  Packer packer;
  packer.put(named.at);
  packer.put(named.with);
  packer.put(named.number);
  pack_names(Payload(named.mixed), packer);
  channel_.send(publisher_, MessageKind::averaged, std::make_shared<const Bytes>(packer.take()), nullptr);
}

void MpiBackend::take_averaging(Rank from, const Bytes& bytes) {
  Unpacker unpacker(bytes);
  Averaging averaging;
  averaging.at = unpacker.get<Rank>();
  averaging.with = unpacker.get<Rank>();
  averaging.number = unpacker.get<std::uint64_t>();
  averaging.mixed = by_name(std::get<Weights>(unpack_names(values_, unpacker)));
  own_.versions->averaged(from, averaging);
  take_own_versions();
}

void MpiBackend::take_own_versions() {
  while (!own_.over) {
    const std::optional<OwnVersions::Version> version = own_.versions->next();
    if (!version) return;
    if (is_late(version->when)) {
      own_.over = true;
      return;
    }
    std::vector<OwnVersions::Part> parts;
    if (runs_free()) parts = own_.versions->parts();
    need_parts(parts);
    keep_publication(version->weights, version->made, version->when);
    own_.numbers.push_back(version->number);
    free_.parts.push_back(std::move(parts));
    if (!stops_at(version->weights)) continue;
    own_.over = true;
    if (stopping_)
      end_ = version->when;
    else
      stop_now(version->when);
  }
}

/// Nothing is sent after a goodbye: values that are kept too long are dropped when the run ends.
void MpiBackend::forget_own() {
  const std::uint64_t number = std::exchange(own_.numbers.back(), 0);
  if (runs_free()) return forget_parts(std::exchange(free_.parts.back(), {}));
  own_.values.erase(number);
  if (draining_) return;
  Packer packer;
  packer.put(number);
  send_to_all(MessageKind::forget, packer.take());
}

void MpiBackend::take_forget(const Bytes& bytes) {
  Unpacker unpacker(bytes);
  if (runs_free())
    free_.values.erase(unpacker.get_key());
  else
    own_.values.erase(unpacker.get<std::uint64_t>());
}

void MpiBackend::need_parts(const std::vector<OwnVersions::Part>& parts) {
  for (const OwnVersions::Part& part : parts) {
    auto& needed = free_.needed[part.weights->value.key()];
    needed.holder = part.holder;
    ++needed.versions;
  }
}

void MpiBackend::forget_parts(const std::vector<OwnVersions::Part>& parts) {
  for (const OwnVersions::Part& part : parts) {
    const auto found = free_.needed.find(part.weights->value.key());
    if (--found->second.versions > 0) continue;
    const Key key = found->first;
    const Rank holder = found->second.holder;
    free_.needed.erase(found);
    if (holder == node_.self()) {
      free_.values.erase(key);
    } else if (!draining_) {
      Packer packer;
      packer.put(key);
      channel_.send(holder, MessageKind::forget, std::make_shared<const Bytes>(packer.take()), nullptr);
    }
  }
}

void MpiBackend::gather_own_versions() {
  if (runs_free()) return gather_free();
  if (own_versions()) gather_lockstep();
}

Handle MpiBackend::mean_of(const std::vector<Handle>& parts) {
  std::vector<Weights> all(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) all[i].edit().value = parts[i];
  Handle mean = context_.algebra.mean(all)->value;
  values_.of(mean);
  return mean;
}

void MpiBackend::gather_lockstep() {
  Packer asked;
  for (const std::uint64_t number : own_.numbers) asked.put(number);
  const Bytes numbers = channel_.share(asked.take(), publisher_);
  Unpacker unpacker(numbers);
  for (std::size_t i = 0; !unpacker.done(); ++i) {
    const auto number = unpacker.get<std::uint64_t>();
    if (number == 0) continue;  // will not be evaluated
    const Handle mine = own_.values.at(number);
    Packer packer;
    packer.put(mine.key());
    packer.put_floats(values_.of(mine));
    const std::vector<Bytes> all = channel_.gather(packer.take(), publisher_);
    if (!publishes()) continue;
    std::vector<Handle> parts;
    for (const Bytes& bytes : all) {
      Unpacker from(bytes);
      parts.push_back(values_.named(from.get_key()));
      values_.give(parts.back(), from.get_floats(task_.cut.length));
    }
    publications_[i].weights.edit().value = mean_of(parts);
  }
  own_.values.clear();
}

/// One version after the other: each rank sends its parts.
void MpiBackend::gather_free() {
  Packer asked;
  for (const std::vector<OwnVersions::Part>& parts : free_.parts) {
    asked.put(std::uint64_t{parts.size()});
    for (const OwnVersions::Part& part : parts) {
      asked.put(part.holder);
      asked.put(part.weights->value.key());
    }
  }
  const Bytes versions = channel_.share(asked.take(), publisher_);
  Unpacker unpacker(versions);
  for (std::size_t i = 0; !unpacker.done(); ++i) {
    const auto count = unpacker.get<std::uint64_t>();
    if (count == 0) continue;  // will not be evaluated
    Packer packer;
    std::vector<Key> keys;
    std::set<Key> mine;  // an average is a part of it twice, and one that two ranks hold may be
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto holder = unpacker.get<Rank>();
      keys.push_back(unpacker.get_key());
      if (holder != node_.self() || !mine.insert(keys.back()).second) continue;
      packer.put(keys.back());
      packer.put_floats(values_.of(free_.values.at(keys.back())));
    }
    const std::vector<Bytes> all = channel_.gather(packer.take(), publisher_);
    if (!publishes()) continue;
    std::vector<Handle> parts;
    for (const Key& key : keys) parts.push_back(values_.named(key));
    for (const Bytes& bytes : all)
      for (Unpacker from(bytes); !from.done();) {
        const Handle value = values_.named(from.get_key());
        values_.give(value, from.get_floats(task_.cut.length));
      }
    publications_[i].weights.edit().value = mean_of(parts);
  }
  free_.values.clear();
}

}  // namespace straggler
