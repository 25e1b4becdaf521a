// Workers that publish weights of their own on real ranks. Nobody waits for anybody: each tells the rank that publishes, beside the
// scheme's messages and in no account, what it has published and when; that rank finds the versions (OwnVersions), the stop, and which
// versions will be evaluated. The weights stay where they are until the run is over; then their means are made.
#include <algorithm>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

void MpiBackend::publish_own(const PublishOperation& operation, Time when) {
  Weights named = operation.weights();
  own_.values[named->version] = named->value;
  named.edit().value = Handle();
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

/// Until everybody has said goodbye: of a run that stops at a moment, versions of before it may still be told of.
void MpiBackend::take_publication(Rank from, const Bytes& bytes) {
  Unpacker unpacker(bytes);
  const Time when = Time::from_ticks(unpacker.get<std::int64_t>());
  const Weights weights = std::get<Weights>(unpack_names(values_, unpacker));
  own_.versions->publish(from, weights, weights->made(), when);
  take_own_versions();
}

void MpiBackend::take_own_versions() {
  while (!own_.over) {
    const std::optional<OwnVersions::Version> version = own_.versions->next();
    if (!version) return;
    const bool late = (task_.stop.simulated_time && version->when > *task_.stop.simulated_time) || (stopping_ && version->when > end_);
    if (late) {
      own_.over = true;
      return;
    }
    keep_publication(version->weights, version->made, version->when);
    own_.numbers.push_back(version->number);
    if (!stops_at(version->weights)) continue;
    own_.over = true;
    if (stopping_)
      end_ = version->when;
    else
      stop_now(version->when);
  }
}

/// Nothing is said after a goodbye: what is kept too long goes when the run is over.
void MpiBackend::forget_own(std::uint64_t number) {
  own_.values.erase(number);
  own_.numbers.back() = 0;
  if (draining_) return;
  Packer packer;
  packer.put(number);
  tell_all(MessageKind::forget, packer.take());
}

void MpiBackend::gather_own_versions() {
  if (!own_versions()) return;
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
    std::vector<Weights> parts;
    for (const Bytes& bytes : all) {
      Unpacker from(bytes);
      Weights part;
      part.edit().value = values_.named(from.get_key());
      values_.give(part->value, from.get_floats(task_.cut.length));
      parts.push_back(part);
    }
    const Handle mean = context_.algebra.mean(parts)->value;
    values_.of(mean);
    publications_[i].weights.edit().value = mean;
  }
  own_.values.clear();
}

}  // namespace straggler
