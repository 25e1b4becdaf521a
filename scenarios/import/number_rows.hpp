// Rows of numbers in the output of other programs, in which columns are separated by blanks.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/errors.hpp"

namespace straggler {

std::vector<std::string> words_of(std::string_view line);
/// Digits only.
bool is_whole_number(std::string_view word);

/// The text without the tag that a launcher put in front of the lines of one rank: "[1,0]<stdout>:" (mpirun --tag-output), "0: " (srun -l).
/// Digits of a tag with a clock may differ from line to line. Lines without the tag stay.
std::string without_tag(const std::string& text, std::string_view tag);

/// Collects the problems of rows, at their lines.
class NumberRows {
 public:
  explicit NumberRows(const std::filesystem::path& file) : file_(file) {}
  void problem(std::size_t line, const std::string& what);
  /// None and a problem if the word is not a number; `column` names it.
  std::optional<double> number(std::size_t line, const std::string& word, const char* column);
  /// Throws ScenarioErrors if there was a problem.
  void raise() const;

 private:
  const std::filesystem::path& file_;
  std::vector<Problem> problems_;
};

}  // namespace straggler
