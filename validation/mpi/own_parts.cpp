#include "validation/mpi/own_parts.hpp"

#include <set>

namespace straggler {

namespace {

/// Its value by name only: another rank has it, or keeps it elsewhere.
Weights by_name(Weights weights) {
  const Handle value(weights->value.key());
  weights.edit().value = value;
  return weights;
}

}  // namespace

OwnParts::OwnParts(RankWorld& world, const Node& node, RankPost& post, const RankStop& stop)
    : world_(world), algebra_(node.algebra()), post_(post), stop_(stop) {
  const Weights& initial = node.initial_weights();
  if (world.publishes()) versions_.emplace(world.task.plan.versions, world.task.plan.workers, initial);
  if (runs_free()) values_[initial->value.key()] = initial->value;
}

void OwnParts::publish(const PublishOperation& operation, Time when) {
  if (stop_.is_late(when)) return;
  values_[operation.weights()->value.key()] = operation.weights()->value;
  Weights named = by_name(operation.weights());
  if (versions_) return versions_->publish(world_.self(), named, operation.made(), when);
  if (!operation.made().empty()) named.edit().more.edit().made = operation.made();
  Packer packer;
  packer.put(when.ticks());
  pack_names(Payload(named), packer);
  post_.tell(world_.publisher(), MessageKind::published, packer.take());
}

void OwnParts::published(Rank from, const Bytes& publication) {
  Unpacker unpacker(publication);
  const Time when = Time::from_ticks(unpacker.get<std::int64_t>());
  const Weights weights = by_name(std::get<Weights>(unpack_names(world_.values, unpacker)));
  if (!stop_.is_late(when)) versions_->publish(from, weights, weights->made(), when);
}

void OwnParts::averaged(Rank teller, const Averaging& averaging) {
  if (!runs_free()) return;
  world_.values.of(averaging.mixed->value);
  if (teller == averaging.at) values_[averaging.mixed->value.key()] = averaging.mixed->value;
  Averaging named = averaging;
  named.mixed = by_name(named.mixed);
  if (versions_) return versions_->averaged(teller, named);
  Packer packer;
  packer.put(named.at);
  packer.put(named.with);
  packer.put(named.number);
  pack_names(Payload(named.mixed), packer);
  post_.tell(world_.publisher(), MessageKind::averaged, packer.take());
}

void OwnParts::averaged(Rank from, const Bytes& bytes) {
  Unpacker unpacker(bytes);
  Averaging averaging;
  averaging.at = unpacker.get<Rank>();
  averaging.with = unpacker.get<Rank>();
  averaging.number = unpacker.get<std::uint64_t>();
  averaging.mixed = by_name(std::get<Weights>(unpack_names(world_.values, unpacker)));
  versions_->averaged(from, averaging);
}

void OwnParts::keep(const OwnVersions::Version& version) {
  std::vector<Part>& parts = parts_.emplace_back();
  if (runs_free())
    parts = versions_->parts();
  else
    for (const Weights& weights : version.parts) parts.push_back({weights, static_cast<Rank>(parts.size())});
  for (const Part& part : parts) ++references_[{part.weights->value.key(), part.holder}];
}

void OwnParts::forget(std::size_t number) {
  for (const Part& part : std::exchange(parts_[number], {})) {
    const Key key = part.weights->value.key();
    const auto found = references_.find({key, part.holder});
    if (--found->second > 0) continue;
    references_.erase(found);
    if (part.holder == world_.self()) {
      values_.erase(key);
    } else {
      Packer packer;
      packer.put(key);
      post_.tell(part.holder, MessageKind::forget, packer.take());
    }
  }
}

Handle OwnParts::mean_of(const std::vector<Handle>& parts) {
  std::vector<Weights> all(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) all[i].edit().value = parts[i];
  Handle mean = algebra_.mean(all)->value;
  world_.values.of(mean);
  return mean;
}

/// One version after the other: each rank sends its parts.
void OwnParts::gather(std::deque<Publication>& publications) {
  Packer asked;
  for (const std::vector<Part>& parts : parts_) {
    asked.put(std::uint64_t{parts.size()});
    for (const Part& part : parts) {
      asked.put(part.holder);
      asked.put(part.weights->value.key());
    }
  }
  const Bytes versions = world_.channel.share(asked.take(), world_.publisher());
  Unpacker unpacker(versions);
  for (std::size_t i = 0; !unpacker.done(); ++i) {
    const auto count = unpacker.get<std::uint64_t>();
    if (count == 0) continue;  // will not be evaluated
    Packer packer;
    std::vector<Key> keys;
    std::set<Key> mine;  // an average is a part of it twice
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto holder = unpacker.get<Rank>();
      keys.push_back(unpacker.get_key());
      if (holder != world_.self() || !mine.insert(keys.back()).second) continue;
      packer.put(keys.back());
      packer.put_floats(world_.values.of(values_.at(keys.back())));
    }
    const std::vector<Bytes> all = world_.channel.gather(packer.take(), world_.publisher());
    if (!versions_) continue;
    std::vector<Handle> parts;
    for (const Key& key : keys) parts.push_back(world_.values.named(key));
    for (const Bytes& bytes : all)
      for (Unpacker from(bytes); !from.done();) {
        const Handle value = world_.values.named(from.get_key());
        world_.values.give(value, from.get_floats(world_.task.cut.length));
      }
    publications[i].weights.edit().value = mean_of(parts);
  }
  values_.clear();
}

}  // namespace straggler
