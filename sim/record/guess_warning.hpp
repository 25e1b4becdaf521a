// Warns of a model that classifies no better than a guess although the run came to its stop.
#pragma once
#include <optional>
#include <string>

namespace straggler {

/// What a model learned, as a record or a summary has it. None: not known.
struct Learned {
  std::string scheme;
  std::optional<double> accuracy, guess;    // of the final weights on the test set; share of that set's most frequent class
  std::optional<double> epochs, staleness;  // the latter: mean
  bool compressed = false;
};

/// The accuracy is no higher than that of always naming the most frequent class, though every sample was seen. False for an accuracy of 0,
/// which models without classes have.
bool only_guesses(const Learned& learned);

/// A cause that `straggler explain` would remove from such a run, where that could change what is learned, and a remedy.
std::string guess_remedy(const Learned& learned);

/// A sentence with both figures and the remedy; none unless it only guesses.
std::optional<std::string> guess_warning(const Learned& learned);

}  // namespace straggler
