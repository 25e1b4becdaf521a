// Characters of a text, for models that predict the next one. With `vocabulary: seen` a character is a Unicode code point of a UTF-8 text,
// as in Python's str, and the vocabulary has those that occur in it, sorted; with `bytes` it is a byte, of any file, and the vocabulary
// has all 256.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/data/text_file.hpp"
#include "models/data/windows.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/utf8.hpp"

namespace straggler::data::characters {
namespace {

namespace fs = std::filesystem;

enum class Vocabulary { seen, bytes };
constexpr ChoiceTable<Vocabulary> vocabulary_choice("vocabulary", {{Vocabulary::seen, "seen"}, {Vocabulary::bytes, "bytes"}});

constexpr std::uint64_t largest_text = std::uint64_t{1} << 30;  // bytes; four times as many are held

/// Calls with(number) for the bytes or code points of a file.
template <class With>
void for_characters(const fs::path& path, Vocabulary vocabulary, const With& with) {
  const auto fail = [&](const std::string& sentence) { throw DataError(fmt::format("{}: {}", path.string(), sentence)); };
  const auto fail_at = [&](std::uint64_t byte, std::uint64_t line, const char* what) {
    fail(fmt::format("byte {} (line {}) {}, or use vocabulary: bytes", byte, line, what));
  };
  constexpr const char* not_utf8 = "is not UTF-8; give a whole text in UTF-8";
  TextFile file(path);
  std::string begun;               // first bytes of a character that the next piece completes
  std::uint64_t at = 0, line = 1;  // the byte after `begun` began
  for (std::string_view piece = file.next(); !piece.empty(); piece = file.next()) {
    if (at + begun.size() + piece.size() > largest_text)
      fail(fmt::format("is larger than {} GiB; use a part of it, or tokens", largest_text >> 30));
    if (vocabulary == Vocabulary::bytes) {
      for (const char c : piece) with(std::uint32_t{static_cast<unsigned char>(c)});
      at += piece.size();
      continue;
    }
    begun += piece;
    std::size_t i = 0;
    constexpr std::size_t longest = 4;
    const auto may_be_cut = [&] { return begun.size() - i < longest && static_cast<unsigned char>(begun[i]) >= 0xC2; };
    while (i < begun.size()) {
      const Utf8Character character = utf8_character(begun, i);
      if (character.bytes == 0 && may_be_cut()) break;
      if (character.bytes == 0) fail_at(at + i, line, not_utf8);
      if (character.code == 0) fail_at(at + i, line, "is zero, which no text has; give a text");
      if (character.code == '\n') ++line;
      with(character.code);
      i += character.bytes;
    }
    at += i;
    begun.erase(0, i);
  }
  if (!begun.empty()) fail_at(at, line, not_utf8);
}

struct Options {
  fs::path path;
  Vocabulary vocabulary;
  WindowRule rule;
  Options(const Parameters& parameters, const fs::path& base)
      : path(base / parameters.text("path")), vocabulary(vocabulary_choice.of(parameters)), rule(parameters) {}

  DataInfo describe(std::size_t symbols, std::size_t different) const {
    if (symbols == 0) throw DataError(fmt::format("{}: is empty; give a text", path.string()));
    return describe_windows(rule, symbols, different, vocabulary == Vocabulary::bytes ? "bytes" : "characters", path);
  }
};

/// Number of each code point in the vocabulary.
class Numbers {
 public:
  explicit Numbers(Vocabulary vocabulary) : seen_(vocabulary == Vocabulary::bytes ? 256 : code_points, vocabulary == Vocabulary::bytes) {}
  void see(std::uint32_t code) { seen_[code] = true; }
  std::size_t different() const { return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), true)); }
  std::vector<std::int32_t> of_codes() const {
    std::vector<std::int32_t> numbers(seen_.size());
    std::int32_t next = 0;
    for (std::size_t code = 0; code < seen_.size(); ++code) numbers[code] = seen_[code] ? next++ : -1;
    return numbers;
  }

 private:
  std::vector<bool> seen_;
};

DataInfo inspect(const Parameters& parameters, const fs::path& base) {
  const Options options(parameters, base);
  Numbers numbers(options.vocabulary);
  std::size_t symbols = 0;
  for_characters(options.path, options.vocabulary, [&](std::uint32_t code) {
    numbers.see(code);
    ++symbols;
  });
  return options.describe(symbols, numbers.different());
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t /*seed*/, unsigned /*threads*/) {
  const Options options(parameters, base);
  Numbers numbers(options.vocabulary);
  Symbols text;
  for_characters(options.path, options.vocabulary, [&](std::uint32_t code) {
    numbers.see(code);
    text.push_back(static_cast<std::int32_t>(code));
  });
  const std::vector<std::int32_t> number = numbers.of_codes();
  for (std::int32_t& symbol : text) symbol = number[static_cast<std::size_t>(symbol)];
  DataInfo info = options.describe(text.size(), numbers.different());
  return cut_windows(options.rule, std::move(info), std::move(text));
}

std::vector<Parameter> declare() {
  std::vector<Parameter> all = {
      {.name = "path", .type = ValueType::path, .required = true, .meaning = "the text, plain or .gz"},
      vocabulary_choice.parameter(
          Vocabulary::seen,
          "seen: the Unicode characters of the whole text (UTF-8), sorted; bytes: all 256 bytes, which makes any file a text")};
  for (Parameter& parameter : window_parameters()) all.push_back(std::move(parameter));
  return all;
}

const Register<DataEntry> entry({
    .name = "characters",
    .summary = "windows of a text, and the next character at each place; for networks that begin with an embedding",
    .parameters = declare(),
    .inspect = inspect,
    .load = load,
    .seeded = false,
    .files = [](const Parameters& parameters, const fs::path& base) { return std::vector{base / parameters.text("path")}; },
});

}  // namespace
}  // namespace straggler::data::characters
