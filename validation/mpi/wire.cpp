#include "validation/mpi/wire.hpp"

namespace straggler {
namespace {

void pack_value(const Handle& handle, Carry carry, Values& values, Packer& to) {
  to.put(handle.key());
  if (carry == Carry::values && !handle.empty()) to.put_floats(values.of(handle));
}

Handle unpack_value(Carry carry, std::size_t length, Values& values, Unpacker& from) {
  const Key key = from.get_key();
  if (key == Key{}) return {};
  Handle handle = values.named(key);
  if (carry == Carry::values) values.give(handle, from.get_floats(length));
  return handle;
}

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

void pack_weights(const WeightsState& state, Carry carry, Values& values, Packer& to) {
  pack_standing(state, to);
  pack_value(state.value, carry, values, to);
  pack_contributions(state.made(), to);
  to.put(std::uint64_t{state.optimizer().size()});
  for (const Handle& handle : state.optimizer()) pack_value(handle, carry, values, to);
}

Weights unpack_weights(Carry carry, std::size_t length, Values& values, Unpacker& from) {
  Weights weights;
  WeightsState& state = weights.edit();
  unpack_standing(state, from);
  state.value = unpack_value(carry, length, values, from);
  Contributions made;
  unpack_contributions(made, from);
  if (!made.empty()) state.more.edit().made = std::move(made);
  for (auto count = from.get<std::uint64_t>(); count > 0; --count)
    state.more.edit().optimizer.push_back(unpack_value(carry, length, values, from));
  return weights;
}

/// The weights that it was taken at travel as their standing and name: nobody who gets a gradient looks at them. Batches over which it is
/// a plain mean stay behind: real ranks do not fuse.
void pack_gradient(const GradientState& state, Carry carry, Values& values, Packer& to) {
  to.put(std::int64_t{state.averaged});
  to.put(std::uint64_t{state.stream});
  pack_standing(*state.at.operator->(), to);
  to.put(state.at->value.key());
  pack_value(state.value, carry, values, to);
  pack_contribution(state.first, to);
  to.put(std::uint8_t{state.more.there()});
  if (!state.more.there()) return;
  to.put(std::uint64_t{state.more.get().samples});
  pack_contributions(state.more.get().made, to);
}

Gradient unpack_gradient(Carry carry, std::size_t length, Values& values, Unpacker& from) {
  Gradient gradient;
  GradientState& state = gradient.edit();
  state.averaged = static_cast<decltype(state.averaged)>(from.get<std::int64_t>());
  state.stream = static_cast<decltype(state.stream)>(from.get<std::uint64_t>());
  WeightsState& at = state.at.edit();
  unpack_standing(at, from);
  at.value = Handle(from.get_key(), nullptr);
  state.value = unpack_value(carry, length, values, from);
  state.first = unpack_contribution(from);
  if (from.get<std::uint8_t>() == 0) return gradient;
  state.more.edit().samples = from.get<std::uint64_t>();
  unpack_contributions(state.more.edit().made, from);
  return gradient;
}

}  // namespace

void pack(const Payload& payload, Carry carry, Values& values, Packer& to) {
  if (std::holds_alternative<MembershipNotice>(payload)) throw std::logic_error("a notice of members between real ranks, which do not fail");
  const auto* weights = std::get_if<Weights>(&payload);
  to.put(std::uint8_t{weights == nullptr});
  if (weights)
    pack_weights(*weights->operator->(), carry, values, to);
  else
    pack_gradient(*std::get<Gradient>(payload).operator->(), carry, values, to);
}

Payload unpack(Carry carry, std::size_t length, Values& values, Unpacker& from) {
  if (from.get<std::uint8_t>() == 0) return unpack_weights(carry, length, values, from);
  return unpack_gradient(carry, length, values, from);
}

std::uint64_t value_bytes(const Payload& payload, std::size_t length) {
  std::uint64_t vectors = 0;
  if (const auto* weights = std::get_if<Weights>(&payload)) vectors = 1 + (*weights)->optimizer().size();
  if (const auto* gradient = std::get_if<Gradient>(&payload)) vectors = (*gradient)->value.empty() ? 0 : 1;
  return vectors * length * sizeof(float);
}

}  // namespace straggler
