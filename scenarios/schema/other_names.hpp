// Keys of a scenario by the names that they have in other programs, or beside the section where they belong.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// Which of the known keys is meant by `key`: what is called so elsewhere ("lr" for learning_rate), else the nearest one; empty: none.
std::string meant_key(std::string_view key, const std::vector<std::string>& known);

/// "unknown key 'lr'; did you mean 'learning_rate'? known: kind, learning_rate". `section`: the path where it stands; a key that belongs to
/// another section is told with that: "unknown key 'lr'; did you mean training.optimizer.learning_rate? known: …".
std::string unknown_key(std::string_view key, const std::vector<std::string>& known, std::string_view section);

}  // namespace straggler
