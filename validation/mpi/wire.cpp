#include "validation/mpi/wire.hpp"

#include <algorithm>

namespace straggler {
namespace {

/// The parameters that are compressed, and how they are written: of a whole vector, or of a fragment, which is compressed as one.
struct Written {
  Written(const Cut& cut, const Fragment& fragment) : entry(entry_of(cut)) {
    end = cut.parameters * (fragment.index + 1) / fragment.count;
    begin = cut.begin_of(fragment);
    if (!fragment.whole()) tensors = tensors_within(cut.codec->tensors, begin, end);
    layout = {end - begin, fragment.whole() ? std::span<const TensorInfo>(cut.codec->tensors) : tensors};
  }
  const CompressorEntry& entry;
  std::size_t begin = 0, end = 0;
  std::vector<TensorInfo> tensors;
  VectorLayout layout;

 private:
  static const CompressorEntry& entry_of(const Cut& cut) {
    if (!cut.codec) throw std::logic_error("a compressed vector between ranks that have no codec");
    return *cut.codec->entry;
  }
};

Handle known_in(Values& values, const Key& key) {
  Handle handle = values.named(key);
  if (!values.has(handle)) throw std::logic_error("a compressed message whose base this rank does not hold");
  return handle;
}

class WithValues {
 public:
  /// `later`: of the parts after the main one.
  WithValues(const Cut& cut, Values& values, std::span<Packer> later, std::vector<std::shared_ptr<const float>>* apart)
      : cut_(cut), values_(values), later_(later), apart_(cut.apart() ? apart : nullptr) {}
  void pack(const Handle& handle, const Fragment& fragment, Packer& to) const {
    to.put(handle.key());
    if (handle.empty()) return;
    if (apart_ && fragment.whole()) return apart_->push_back(values_.hold(handle));
    const std::span<const float> all = values_.of(handle);
    if (!fragment.whole()) {
      to.put_floats(all.subspan(cut_.begin_of(fragment), cut_.of(fragment).length));
      return;
    }
    to.put_floats(all.first(cut_.main));
    put_later(all);
  }
  /// Values behind the parameters are sent uncompressed.
  void pack_compressed(const Handle& handle, const CompressedForm& form, const Fragment& fragment, Packer& to) const {
    const Written written(cut_, fragment);
    const bool product = form.factors != nullptr;
    to.put(product ? form.factors->both.key() : handle.key());
    const std::span<const float> all = values_.of(product ? form.factors->both : handle);
    const std::vector<std::byte> encoded =
        written.entry.encode(form.scalars, written.layout, all.subspan(written.begin, written.end - written.begin));
    const auto more = written.entry.for_zeros;
    if (encoded.size() != form.bytes && (!more || encoded.size() != form.bytes + more(written.layout)))
      throw std::logic_error("a compressed vector's size differs from its declared size");
    to.put_block(encoded);
    to.put_floats(all.subspan(cut_.parameters, cut_.main - cut_.parameters));
    put_later(all);
  }

 private:
  void put_later(std::span<const float> all) const {
    for (std::size_t k = 0; k < later_.size(); ++k) {
      const Cut::Stretch part = cut_.parts()[k + 1];
      later_[k].put_floats(all.subspan(part.begin, part.length));
    }
  }
  const Cut& cut_;
  Values& values_;
  std::span<Packer> later_;
  std::vector<std::shared_ptr<const float>>* const apart_;
};

class NamesAlone {
 public:
  void pack(const Handle& handle, const Fragment&, Packer& to) const { to.put(handle.key()); }
  void pack_compressed(const Handle& handle, const CompressedForm&, const Fragment&, Packer& to) const { to.put(handle.key()); }
};

class GivenValues {
 public:
  GivenValues(const Cut& cut, Values& values, std::span<Unpacker> later, std::span<LentFloats>& apart)
      : cut_(cut), values_(values), later_(later), apart_(apart) {}
  Handle unpack(const Fragment& fragment, Unpacker& from) {
    const Key key = from.get_key();
    if (key == Key{}) return {};
    Handle handle = values_.named(key);
    if (!fragment.whole()) {
      const std::span<const float> piece = from.get_floats(cut_.of(fragment).length);
      whole_.assign(cut_.length, 0.0f);
      std::copy(piece.begin(), piece.end(), whole_.begin() + static_cast<std::ptrdiff_t>(cut_.begin_of(fragment)));
      values_.give(handle, whole_);
      return handle;
    }
    if (!apart_.empty()) {
      values_.give(handle, std::move(apart_.front()));
      apart_ = apart_.subspan(1);
      return handle;
    }
    if (later_.empty()) {  // straight from the message
      values_.give(handle, from.get_floats(cut_.length));
      return handle;
    }
    whole_.resize(cut_.length);
    std::ranges::copy(from.get_floats(cut_.main), whole_.begin());
    get_later();
    values_.give(handle, whole_);
    return handle;
  }
  Handle unpack_compressed(const CompressedForm& form, const Fragment& fragment, Unpacker& from) {
    const Written written(cut_, fragment);
    Handle handle = values_.named(from.get_key());
    whole_.assign(cut_.length, 0.0f);
    written.entry.decode(form.scalars, written.layout, from.get_block(),
                         std::span(whole_).subspan(written.begin, written.end - written.begin));
    std::ranges::copy(from.get_floats(cut_.main - cut_.parameters), whole_.begin() + static_cast<std::ptrdiff_t>(cut_.parameters));
    get_later();
    values_.give(handle, whole_);
    if (!form.factors) return handle;
    return values_.product(handle, form.scalars);
  }
  Handle known(const Key& key) { return known_in(values_, key); }
  Handle named(const Key& key) { return values_.named(key); }
  Handle moved(const Handle& base, const Handle& change) {
    Handle handle = values_.moved(base, change);
    values_.of(handle);  // `change` goes
    return handle;
  }

 private:
  void get_later() {
    for (std::size_t k = 0; k < later_.size(); ++k) {
      const Cut::Stretch part = cut_.parts()[k + 1];
      std::ranges::copy(later_[k].get_floats(part.length), whole_.begin() + static_cast<std::ptrdiff_t>(part.begin));
    }
  }
  const Cut& cut_;
  Values& values_;
  std::span<Unpacker> later_;
  std::span<LentFloats>& apart_;  // those that no vector is given yet
  std::vector<float> whole_;
};

class GivenNames {
 public:
  explicit GivenNames(Values& values) : values_(values) {}
  Handle unpack(const Fragment&, Unpacker& from) {
    const Key key = from.get_key();
    return key == Key{} ? Handle() : values_.named(key);
  }
  Handle unpack_compressed(const CompressedForm&, const Fragment&, Unpacker& from) { return values_.named(from.get_key()); }
  Handle known(const Key& key) { return known_in(values_, key); }
  Handle named(const Key& key) { return values_.named(key); }
  Handle moved(const Handle& base, const Handle& change) { return values_.moved(base, change); }

 private:
  Values& values_;
};

void pack_form(const CompressedForm& form, Packer& to) {
  to.put(form.bytes);
  to.put_list(form.scalars);
  to.put(form.right_bytes);
  to.put(std::uint8_t{form.factors != nullptr});
  if (form.factors) to.put(form.factors->both.empty() ? form.factors->left.key() : Key{});
}

/// Of factors that are no pair yet, the left ones' name. The others are in the message.
template <class Vectors>
CompressedForm unpack_form(Vectors& vectors, Unpacker& from) {
  CompressedForm form;
  form.bytes = from.get<std::uint64_t>();
  from.get_list(form.scalars);
  form.right_bytes = from.get<std::uint64_t>();
  if (from.get<std::uint8_t>() == 0) return form;
  const Key left = from.get_key();
  form.factors = std::make_shared<const LowRank>(LowRank{left == Key{} ? Handle() : vectors.named(left), {}});
  return form;
}

// Facts that a Packer writes and an Unpacker reads, in one order.

/// The version facts of weights, without their values.
template <class Way, class State>
void standing(Way& way, State& state) {
  way.each(state.participants, state.version, state.progress, state.local_samples);
}

template <class Way, class State>
void contribution(Way& way, State& state) {
  way.each(state.worker, state.steps, state.batch_samples, state.first_position, state.spent);
}

void pack_fragment(const Fragment& fragment, Packer& to) { to.each(fragment.index, fragment.count); }

Fragment unpack_fragment(Unpacker& from) {
  const auto index = from.get<std::uint32_t>(), count = from.get<std::uint32_t>();
  if (index >= count) throw std::logic_error("a message between ranks holds a fragment that there is not");
  return {index, count};
}

template <class Vectors>
void pack_attached(const AttachedVectors& attached, const Fragment& fragment, const Vectors& vectors, Packer& to) {
  to.put(std::uint64_t{attached.size()});
  for (const AttachedVector& each : attached) {
    to.put_block(std::as_bytes(std::span(each.name)));
    vectors.pack(each.value, fragment, to);
  }
}

template <class Vectors>
AttachedVectors unpack_attached(const Fragment& fragment, Vectors& vectors, Unpacker& from) {
  AttachedVectors attached;
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) {
    const std::span<const std::byte> name = from.get_block();
    std::string text(reinterpret_cast<const char*>(name.data()), name.size());
    attached.push_back({std::move(text), vectors.unpack(fragment, from)});
  }
  return attached;
}

template <class Vectors>
void pack_weights(const WeightsState& state, const Vectors& vectors, Packer& to) {
  standing(to, state);
  pack_fragment(state.fragment(), to);
  const WeightsDifference* const difference = state.difference();
  to.put(std::uint8_t{difference != nullptr});
  if (difference) {
    to.put(difference->base.key());
    pack_form(difference->form, to);
    vectors.pack_compressed(difference->change, difference->form, state.fragment(), to);
  } else {
    vectors.pack(state.value, state.fragment(), to);
  }
  to.put_list(state.made());
  pack_attached(state.attached(), state.fragment(), vectors, to);
  to.put(std::uint8_t{state.push_weight() != nullptr});
  if (state.push_weight()) to.put(state.push_weight()->amount());
  const std::optional<std::uint64_t>& counted = state.counted();
  to.put(std::uint8_t{counted.has_value()});
  if (counted) to.put(*counted);
}

/// Only weights that this rank also holds can be a base.
template <class Vectors>
void unpack_difference(WeightsState& state, Vectors& vectors, Unpacker& from) {
  WeightsDifference difference;
  difference.base = vectors.known(from.get_key());
  difference.form = unpack_form(vectors, from);
  difference.change = vectors.unpack_compressed(difference.form, state.fragment(), from);
  state.value = vectors.moved(difference.base, difference.change);
  difference.of = state.value.key();
  state.more.edit().difference = std::make_shared<const WeightsDifference>(std::move(difference));
}

template <class Vectors>
Weights unpack_weights(Vectors& vectors, Unpacker& from) {
  Weights weights;
  WeightsState& state = weights.edit();
  standing(from, state);
  const Fragment fragment = unpack_fragment(from);
  if (!fragment.whole()) state.more.edit().fragment = fragment;
  if (from.get<std::uint8_t>() != 0)
    unpack_difference(state, vectors, from);
  else
    state.value = vectors.unpack(fragment, from);
  Contributions made;
  from.get_list(made);
  if (!made.empty()) state.more.edit().made = std::move(made);
  AttachedVectors attached = unpack_attached(fragment, vectors, from);
  if (!attached.empty()) state.more.edit().attached = std::move(attached);
  if (from.get<std::uint8_t>() != 0) state.more.edit().push_weight = std::make_shared<PushWeight>(from.get<double>());
  if (from.get<std::uint8_t>() != 0) state.more.edit().about_kept.edit().counted = from.get<std::uint64_t>();
  return weights;
}

/// Only the standing and the name of the weights it was taken at travel: no receiver of a gradient reads them. Batches that were averaged
/// stay behind: real ranks do not fuse.
template <class Vectors>
void pack_gradient(const GradientState& state, const Vectors& vectors, Packer& to) {
  to.put(state.averaged);
  standing(to, *state.at.operator->());
  to.put(state.at->value.key());
  pack_fragment(state.fragment(), to);
  const std::optional<CompressedForm>& compressed = state.more.get().compressed;
  to.put(std::uint8_t{compressed.has_value()});
  if (compressed) {
    pack_form(*compressed, to);
    vectors.pack_compressed(state.value(), *compressed, state.fragment(), to);
  } else {
    vectors.pack(state.value(), state.fragment(), to);
  }
  contribution(to, state);
  to.put(std::uint8_t{state.more.there()});
  if (!state.more.there()) return;
  to.put(std::uint64_t{state.more.get().samples});
  to.put(std::uint8_t{state.more.get().of_weights});
  to.put_list(state.more.get().made);
  pack_attached(state.attached(), state.fragment(), vectors, to);
}

template <class Vectors>
Gradient unpack_gradient(Vectors& vectors, Unpacker& from) {
  Gradient gradient;
  GradientState& state = gradient.edit();
  state.averaged = from.get<float>();
  WeightsState& at = state.at.edit();
  standing(from, at);
  at.value = Handle(from.get_key());
  const Fragment fragment = unpack_fragment(from);
  std::optional<CompressedForm> compressed;
  if (from.get<std::uint8_t>() != 0) compressed = unpack_form(vectors, from);
  Handle value = compressed ? vectors.unpack_compressed(*compressed, fragment, from) : vectors.unpack(fragment, from);
  contribution(from, state);
  state.derive(std::move(value));
  if (from.get<std::uint8_t>() == 0) return gradient;
  GradientState::More& more = state.more.edit();
  more.fragment = fragment;
  more.compressed = std::move(compressed);
  more.samples = from.get<std::uint64_t>();
  more.of_weights = from.get<std::uint8_t>() != 0;
  from.get_list(more.made);
  more.attached = unpack_attached(fragment, vectors, from);
  return gradient;
}

/// A token's bytes travel, with any content.
void pack_token(const Token& token, Packer& to) {
  to.put(token.number);
  to.put_block(std::vector<std::byte>(token.bytes));
}

Token unpack_token(Unpacker& from) {
  Token token;
  token.number = from.get<std::uint32_t>();
  token.bytes = static_cast<std::uint32_t>(from.get_block().size());
  return token;
}

template <class Vectors>
struct PackPayload {
  const Vectors& vectors;
  Packer& to;
  void operator()(const Weights& weights) const { pack_weights(*weights.operator->(), vectors, to); }
  void operator()(const Gradient& gradient) const { pack_gradient(*gradient.operator->(), vectors, to); }
  void operator()(const Token& token) const { pack_token(token, to); }
  void operator()(const MembershipNotice&) const { throw std::logic_error("a notice of members between real ranks, which do not fail"); }
  void operator()(const Samples&) const { throw std::logic_error("samples between real ranks, which draw their own"); }
};

template <class Vectors>
void pack_payload(const Payload& payload, const Vectors& vectors, Packer& to) {
  to.put(static_cast<std::uint8_t>(payload.index()));
  std::visit(PackPayload<Vectors>{vectors, to}, payload);
}

template <class Vectors>
Payload unpack_payload(Vectors vectors, Unpacker& from) {
  switch (from.get<std::uint8_t>()) {
    case payload_kind<Weights>():
      return unpack_weights(vectors, from);
    case payload_kind<Gradient>():
      return unpack_gradient(vectors, from);
    case payload_kind<Token>():
      return unpack_token(from);
    default:
      throw std::logic_error("a message between ranks holds a payload of no known kind");
  }
}

}  // namespace

std::vector<Bytes> pack(const Payload& payload, const Cut& cut, Values& values, std::vector<std::shared_ptr<const float>>* apart) {
  std::vector<Packer> packers(cut.parts().size());
  constexpr std::size_t heads = 512;  // bytes for the fields of a payload, and of each vector, before its values
  const std::size_t inside = apart && cut.apart() && fragment_of(payload).whole() ? 0 : cut.main * sizeof(float);
  packers.front().reserve(heads + vectors_in(payload).size() * (inside + heads));
  pack_payload(payload, WithValues(cut, values, std::span(packers).subspan(1), apart), packers.front());
  std::vector<Bytes> parts;
  for (Packer& each : packers) parts.push_back(each.take());
  while (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  return parts;
}

Payload unpack(const Cut& cut, Values& values, std::span<const Bytes> parts, std::span<LentFloats> apart) {
  const std::size_t count = cut.parts().size();
  std::vector<Unpacker> unpackers(parts.begin(), parts.end());
  if (unpackers.size() < count) unpackers.resize(count, Unpacker({}));
  Payload payload = unpack_payload(GivenValues(cut, values, std::span(unpackers).subspan(1, count - 1), apart), unpackers.front());
  if (!std::ranges::all_of(unpackers, &Unpacker::done) || !apart.empty())
    throw std::logic_error("a message between ranks has more bytes than its payload");
  return payload;
}

void pack_names(const Payload& payload, Packer& to) { pack_payload(payload, NamesAlone(), to); }

Payload unpack_names(Values& values, Unpacker& from) { return unpack_payload(GivenNames(values), from); }

std::vector<Handle> vectors_in(const Payload& payload) {
  std::vector<Handle> vectors;
  const auto add = [&](const Handle& own, const AttachedVectors& attached) {
    if (!own.empty()) vectors.push_back(own);
    for (const AttachedVector& each : attached)
      if (!each.value.empty()) vectors.push_back(each.value);
  };
  if (const auto* weights = std::get_if<Weights>(&payload)) add((*weights)->value, (*weights)->attached());
  if (const auto* gradient = std::get_if<Gradient>(&payload)) add((*gradient)->value(), (*gradient)->attached());
  return vectors;
}

Fragment fragment_of(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return (*weights)->fragment();
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient ? (*gradient)->fragment() : Fragment();
}

}  // namespace straggler
