#include "sim/record/guess_warning.hpp"

#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/record/loss_warning.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

/// Its gradients may be stale, and can be computed at newer weights.
bool has_stale_gradients(const Learned& learned) {
  const SchemeEntry* const entry = Registry<SchemeEntry>::instance().find(learned.scheme);
  if (entry == nullptr || learned.compressed || learned.staleness.value_or(0) <= 0) return false;
  const SchemeVariant usual = variant_of(*entry, {});
  return usual.asynchronous() && entry->sends_gradients(usual.parameters);
}

}  // namespace

bool only_guesses(const Learned& learned) {
  if (!learned.accuracy || !learned.guess || learned.epochs.value_or(1) < 0.999) return false;
  return *learned.accuracy > 0 && *learned.accuracy <= *learned.guess;
}

std::string guess_remedy(const Learned& learned) {
  std::string text;
  if (has_stale_gradients(learned))
    text = "straggler explain shows what it learns without stale gradients (" + readable_number(*learned.staleness) +
           " updates old on average); ";
  else if (learned.compressed)
    text = "straggler explain shows what it learns without compression; ";
  return text + loss_remedy;
}

std::optional<std::string> guess_warning(const Learned& learned) {
  if (!only_guesses(learned)) return std::nullopt;
  return "the final test accuracy of " + readable_score(*learned.accuracy) + " is no better than guessing (the most frequent class has " +
         readable_score(*learned.guess) + " of the test samples): the run learned nothing, or lost it again; " + guess_remedy(learned);
}

}  // namespace straggler
