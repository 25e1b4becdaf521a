// The envelope: what a message moves. Its parts, their bytes, and what compression has taken off them. Messages, collectives and accounts
// of both back ends ask here, and know nothing else of a payload's size.
#pragma once
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "sim/training/payload.hpp"

namespace straggler {

/// A message's parts leave one after another, and its receiver gets them together. A collective moves one part after another.
struct Part {
  enum class Kind : std::uint8_t {
    main,           // vectors without their statistics; a token
    right_factors,  // of a compressed vector in an all-reduce: they follow from the mean of the left factors, which are in the main part
    statistics,     // the running statistics in which vectors end
  };
  std::uint64_t bytes = 0;
  Kind kind = Kind::main;
};
/// The main part is always there, and is the first.
using Parts = boost::container::static_vector<Part, 3>;

/// Bytes that compression saves for each byte that a rank sends in a collective of `members`: an uncompressed ring all-reduce of `whole`
/// bytes would have sent the rest, and compression leaves `bytes` of them. `gathered`: in an all-gather.
inline double spared_per_byte(double whole, double bytes, std::size_t members, bool gathered) {
  // A rank sends (p - 1) / p of 2 n bytes to reduce them, or p - 1 times n to gather them.
  return (gathered ? 2 / static_cast<double>(members) : 1.0) * whole / bytes - 1;
}

/// The bytes of vectors; those of payloads follow from them.
struct WireBytes {
  std::uint64_t model = 0;       // of one gradient or one model, in the precision of the run
  std::uint64_t state = 0;       // of one attached vector
  std::uint64_t statistics = 0;  // of running statistics; 0: they stay
  std::uint64_t grain = 1;       // fragments are cut at multiples of it

  Parts parts_of(const Payload& payload) const {
    Parts parts(1);
    // Most messages: one worker's gradient, and the weights of a version.
    if (const auto* gradient = std::get_if<Gradient>(&payload))
      price(*gradient, parts);
    else if (const auto* weights = std::get_if<Weights>(&payload))
      price(*weights, parts);
    else if (const auto* samples = std::get_if<Samples>(&payload))
      parts.front().bytes = (*samples)->bytes;
    else if (const auto* token = std::get_if<Token>(&payload))
      parts.front().bytes = token->bytes;
    return parts;
  }
  std::uint64_t all_of(const Payload& payload) const {
    std::uint64_t all = 0;
    for (const Part& part : parts_of(payload)) all += part.bytes;
    return all;
  }
  /// Bytes that compression takes off a message; negative: it adds some.
  double spared_of(const Payload& payload) const {
    const CompressedForm* const form = compressed_form(payload);
    if (!form) return 0;
    const auto* gradient = std::get_if<Gradient>(&payload);
    const std::uint64_t whole = gradient ? share((*gradient)->fragment(), model) : model;
    return static_cast<double>(whole) - static_cast<double>(form->bytes);
  }
  /// The same for each byte of a collective, except those of statistics.
  double spared_per_byte(const Payload& payload, std::size_t members, bool gathered) const {
    std::uint64_t bytes = 0;
    for (const Part& part : parts_of(payload))
      if (part.kind != Part::Kind::statistics) bytes += part.bytes;
    if (bytes == 0 || !compressed_form(payload)) return 0;
    const auto sent = static_cast<double>(bytes);
    return straggler::spared_per_byte(sent + spared_of(payload), sent, members, gathered);
  }

 private:
  std::uint64_t share(const Fragment& fragment, std::uint64_t bytes) const {
    return fragment.whole() ? bytes : fragment.share_of(bytes / grain) * grain;
  }
  static void price(const CompressedForm& form, Parts& parts) {
    parts.front().bytes = form.bytes - form.right_bytes;
    if (form.right_bytes > 0) parts.push_back({form.right_bytes, Part::Kind::right_factors});
  }
  static void price_statistics(std::uint64_t bytes, Parts& parts) {
    if (bytes > 0) parts.push_back({bytes, Part::Kind::statistics});
  }
  /// A contribution without steps has no vector: it costs only its latency.
  void price(const Gradient& gradient, Parts& parts) const {
    if (gradient->value().empty()) return;
    if (!gradient->more.there()) {
      parts.front().bytes = model;
      return price_statistics(statistics, parts);
    }
    const Fragment& fragment = gradient->fragment();
    const std::size_t attached = gradient->attached().size();
    if (const std::optional<CompressedForm>& form = gradient->more.get().compressed)
      price(*form, parts);
    else
      parts.front().bytes = share(fragment, model);
    parts.front().bytes += share(fragment, state * attached);
    price_statistics(share(fragment, statistics * (1 + attached)), parts);
  }
  void price(const Weights& weights, Parts& parts) const {
    if (!weights->more.there() || weights->kept()) {
      const bool alone = weights->more.there();  // of its two vectors the one that its receiver asks for
      parts.front().bytes = alone ? state : model;
      return price_statistics(statistics, parts);
    }
    const std::size_t attached = weights->attached().size();
    if (const WeightsDifference* const difference = weights->difference()) {
      price(difference->form, parts);
      parts.front().bytes += state * attached;
    } else {
      parts.front().bytes = share(weights->fragment(), model + state * attached);
    }
    if (weights->push_weight()) parts.front().bytes += PushWeight::wire_bytes;
    price_statistics(share(weights->fragment(), statistics * (1 + attached)), parts);
  }
};

/// True: it goes in the buckets of a gradient, if the cluster uses buckets; otherwise it goes in one piece.
inline bool goes_in_buckets(const Payload& payload) {
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient && (*gradient)->fragment().whole();
}

}  // namespace straggler
