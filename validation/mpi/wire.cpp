#include "validation/mpi/wire.hpp"

namespace straggler {
namespace {

class WithValues {
 public:
  WithValues(Cut cut, Values& values, Packer& behind) : cut_(cut), values_(values), behind_(behind) {}
  void pack(const Handle& handle, Packer& to) const {
    to.put(handle.key());
    if (handle.empty()) return;
    const std::span<const float> all = values_.of(handle);
    to.put_floats(all.first(cut_.first));
    if (cut_.two()) behind_.put_floats(all.subspan(cut_.first));
  }

 private:
  const Cut cut_;
  Values& values_;
  Packer& behind_;
};

class NamesAlone {
 public:
  void pack(const Handle& handle, Packer& to) const { to.put(handle.key()); }
};

class GivenValues {
 public:
  GivenValues(Cut cut, Values& values, Unpacker& behind) : cut_(cut), values_(values), behind_(behind) {}
  Handle unpack(Unpacker& from) {
    const Key key = from.get_key();
    if (key == Key{}) return {};
    Handle handle = values_.named(key);
    const std::span<const float> first = from.get_floats(cut_.first);
    if (!cut_.two()) {
      values_.give(handle, first);
      return handle;
    }
    const std::span<const float> rest = behind_.get_floats(cut_.length - cut_.first);
    whole_.assign(first.begin(), first.end());
    whole_.insert(whole_.end(), rest.begin(), rest.end());
    values_.give(handle, whole_);
    return handle;
  }

 private:
  const Cut cut_;
  Values& values_;
  Unpacker& behind_;
  std::vector<float> whole_;
};

class GivenNames {
 public:
  explicit GivenNames(Values& values) : values_(values) {}
  Handle unpack(Unpacker& from) {
    const Key key = from.get_key();
    return key == Key{} ? Handle() : values_.named(key);
  }

 private:
  Values& values_;
};

void pack_contribution(const Contribution& made, Packer& to) {
  to.put(std::int64_t{made.worker});
  to.put(std::uint64_t{made.steps});
  to.put(std::uint64_t{made.samples});
  to.put(std::uint64_t{made.read_version});
  to.put(std::uint64_t{made.first_position});
}

Contribution unpack_contribution(Unpacker& from) {
  Contribution made;
  made.worker = static_cast<Rank>(from.get<std::int64_t>());
  made.steps = static_cast<decltype(made.steps)>(from.get<std::uint64_t>());
  made.samples = static_cast<decltype(made.samples)>(from.get<std::uint64_t>());
  made.read_version = static_cast<decltype(made.read_version)>(from.get<std::uint64_t>());
  made.first_position = static_cast<decltype(made.first_position)>(from.get<std::uint64_t>());
  return made;
}

template <class All>
void pack_contributions(const All& made, Packer& to) {
  to.put(std::uint64_t{made.size()});
  for (const Contribution& each : made) pack_contribution(each, to);
}

void unpack_contributions(Contributions& made, Unpacker& from) {
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) made.push_back(unpack_contribution(from));
}

/// How far weights are, without what they are.
void pack_standing(const WeightsState& state, Packer& to) {
  to.put(std::int64_t{state.participants});
  to.put(std::uint64_t{state.version});
  to.put(std::uint64_t{state.progress});
  to.put(std::uint64_t{state.local_samples});
}

void unpack_standing(WeightsState& state, Unpacker& from) {
  state.participants = static_cast<decltype(state.participants)>(from.get<std::int64_t>());
  state.version = from.get<std::uint64_t>();
  state.progress = from.get<std::uint64_t>();
  state.local_samples = from.get<std::uint64_t>();
}

template <class Vectors>
void pack_weights(const WeightsState& state, const Vectors& vectors, Packer& to) {
  pack_standing(state, to);
  vectors.pack(state.value, to);
  pack_contributions(state.made(), to);
  to.put(std::uint64_t{state.optimizer().size()});
  for (const Handle& handle : state.optimizer()) vectors.pack(handle, to);
}

template <class Vectors>
Weights unpack_weights(Vectors& vectors, Unpacker& from) {
  Weights weights;
  WeightsState& state = weights.edit();
  unpack_standing(state, from);
  state.value = vectors.unpack(from);
  Contributions made;
  unpack_contributions(made, from);
  if (!made.empty()) state.more.edit().made = std::move(made);
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) state.more.edit().optimizer.push_back(vectors.unpack(from));
  return weights;
}

/// The weights that it was taken at travel as their standing and name: nobody who gets a gradient looks at them. Batches over which it is
/// a plain mean stay behind: real ranks do not fuse.
template <class Vectors>
void pack_gradient(const GradientState& state, const Vectors& vectors, Packer& to) {
  to.put(std::int64_t{state.averaged});
  to.put(std::uint64_t{state.stream});
  pack_standing(*state.at.operator->(), to);
  to.put(state.at->value.key());
  vectors.pack(state.value, to);
  to.put(std::int64_t{state.worker});
  to.put(std::uint64_t{state.steps});
  to.put(std::uint64_t{state.batch_samples});
  to.put(std::uint64_t{state.first_position});
  to.put(std::uint8_t{state.more.there()});
  if (!state.more.there()) return;
  to.put(std::uint64_t{state.more.get().samples});
  pack_contributions(state.more.get().made, to);
}

template <class Vectors>
Gradient unpack_gradient(Vectors& vectors, Unpacker& from) {
  Gradient gradient;
  GradientState& state = gradient.edit();
  state.averaged = static_cast<decltype(state.averaged)>(from.get<std::int64_t>());
  state.stream = static_cast<decltype(state.stream)>(from.get<std::uint64_t>());
  WeightsState& at = state.at.edit();
  unpack_standing(at, from);
  at.value = Handle(from.get_key());
  state.value = vectors.unpack(from);
  state.worker = static_cast<decltype(state.worker)>(from.get<std::int64_t>());
  state.steps = static_cast<decltype(state.steps)>(from.get<std::uint64_t>());
  state.batch_samples = static_cast<decltype(state.batch_samples)>(from.get<std::uint64_t>());
  state.first_position = from.get<std::uint64_t>();
  if (from.get<std::uint8_t>() == 0) return gradient;
  state.more.edit().samples = from.get<std::uint64_t>();
  unpack_contributions(state.more.edit().made, from);
  return gradient;
}

template <class Vectors>
void pack_payload(const Payload& payload, const Vectors& vectors, Packer& to) {
  if (std::holds_alternative<MembershipNotice>(payload))
    throw std::logic_error("a notice of members between real ranks, which do not fail");
  const auto* weights = std::get_if<Weights>(&payload);
  to.put(std::uint8_t{weights == nullptr});
  if (weights)
    pack_weights(*weights->operator->(), vectors, to);
  else
    pack_gradient(*std::get<Gradient>(payload).operator->(), vectors, to);
}

template <class Vectors>
Payload unpack_payload(Vectors vectors, Unpacker& from) {
  if (from.get<std::uint8_t>() == 0) return unpack_weights(vectors, from);
  return unpack_gradient(vectors, from);
}

}  // namespace

void pack(const Payload& payload, Cut cut, Values& values, Packer& to, Packer& behind) {
  pack_payload(payload, WithValues(cut, values, behind), to);
}

Payload unpack(Cut cut, Values& values, Unpacker& from, Unpacker& behind) { return unpack_payload(GivenValues(cut, values, behind), from); }

void pack_names(const Payload& payload, Packer& to) { pack_payload(payload, NamesAlone(), to); }

Payload unpack_names(Values& values, Unpacker& from) { return unpack_payload(GivenNames(values), from); }

std::size_t vectors_in(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return 1 + (*weights)->optimizer().size();
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient && !(*gradient)->value.empty() ? 1 : 0;
}

}  // namespace straggler
