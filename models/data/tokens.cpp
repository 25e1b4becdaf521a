// A text that a tokenizer has made numbers of, as the .bin files of nanoGPT: unsigned whole numbers of 16 or 32 bits, little endian, and
// nothing else.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "models/data/windows.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::tokens {
namespace {

namespace fs = std::filesystem;

enum class Width { automatic, two, four };
constexpr ChoiceTable<Width> width_choice("width", {{Width::automatic, "auto"}, {Width::two, "uint16"}, {Width::four, "uint32"}});

constexpr std::int64_t most_in_two = 65'536;  // different tokens in 16 bits

struct Options {
  fs::path path;
  std::size_t vocabulary, bytes;  // bytes: of a token
  bool guessed;                   // the bytes, by the vocabulary
  WindowRule rule;
  Options(const Parameters& parameters, const fs::path& base)
      : path(base / parameters.text("path")), vocabulary(static_cast<std::size_t>(parameters.count("vocabulary"))), rule(parameters) {
    const Width width = width_choice.of(parameters);
    guessed = width == Width::automatic;
    bytes = width == Width::two || (width == Width::automatic && parameters.count("vocabulary") <= most_in_two) ? 2 : 4;
  }
  [[noreturn]] void fail(const std::string& sentence) const { throw DataError(fmt::format("{}: {}", path.string(), sentence)); }
  DataInfo describe(std::uintmax_t size) const {
    if (size == 0) fail("is empty; give a file of tokens");
    if (size % bytes != 0)
      fail(fmt::format("has {} bytes, which is no whole number of tokens of {}; get the whole file, or set `width`", size, bytes));
    return describe_windows(rule, size / bytes, vocabulary, "tokens", path);
  }
};

/// Whether the numbers of 16 bits at the start of a file are lower halves of numbers of 32 bits with nothing above.
bool seems_wider(const fs::path& path) {
  constexpr std::size_t least = 64, most = 4096;  // numbers of 32 bits looked at
  std::ifstream in(path, std::ios::binary);
  std::vector<char> start(4 * most);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::size_t count = static_cast<std::size_t>(in.gcount()) / 4;
  bool low = false, high = false;
  for (std::size_t i = 0; i < count; ++i) {
    low = low || start[4 * i] != 0 || start[4 * i + 1] != 0;
    high = high || start[4 * i + 2] != 0 || start[4 * i + 3] != 0;
  }
  return count >= least && low && !high;
}

DataInfo inspect(const Parameters& parameters, const fs::path& base) {
  const Options options(parameters, base);
  std::error_code error;
  if (!fs::exists(options.path, error)) options.fail("no such file; give a file of tokens");
  if (!fs::is_regular_file(options.path, error)) options.fail("not a file; give a file of tokens");
  const std::uintmax_t size = fs::file_size(options.path, error);
  if (error) options.fail(fmt::format("cannot be read ({}); make it readable", error.message()));
  if (options.guessed && options.bytes == 2 && seems_wider(options.path))
    options.fail("every second number of 16 bits at its start is 0, as in a file of uint32; set width: uint32, or width: uint16");
  return options.describe(size);
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t /*seed*/, unsigned /*threads*/) {
  const Options options(parameters, base);
  DataInfo info = inspect(parameters, base);
  errno = 0;
  std::ifstream in(options.path, std::ios::binary);
  if (!in) options.fail(fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
  Symbols text;
  text.reserve(info.shared_bytes / sizeof(Symbols::value_type));
  std::vector<char> block(std::size_t{1} << 20);  // whole tokens
  do {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    for (std::size_t at = 0; at + options.bytes <= static_cast<std::size_t>(in.gcount()); at += options.bytes) {
      std::uint32_t token = 0;
      for (std::size_t b = options.bytes; b-- > 0;) token = token << 8 | static_cast<unsigned char>(block[at + b]);
      if (token >= options.vocabulary)
        options.fail(
            fmt::format("token {} at position {} (byte {}) is beyond the vocabulary, 0 to {}; give the tokenizer's vocabulary, or "
                        "another `width` than {} bytes a token",
                        token, text.size(), text.size() * options.bytes, options.vocabulary - 1, options.bytes));
      text.push_back(static_cast<std::int32_t>(token));
    }
  } while (in);
  if (in.bad()) options.fail(fmt::format("cannot be read ({}); get an undamaged file", std::strerror(errno)));
  if (text.size() * sizeof(Symbols::value_type) != info.shared_bytes) options.fail("changed while it was read; run again");
  return cut_windows(options.rule, std::move(info), std::move(text));
}

std::vector<Parameter> declare() {
  std::vector<Parameter> all = {
      {.name = "path", .type = ValueType::path, .required = true, .meaning = "the file, as nanoGPT's train.bin"},
      {.name = "vocabulary",
       .type = ValueType::count,
       .required = true,
       .meaning = "tokens that there are: 0, 1, …; GPT-2 has 50,257",
       .range = Range::between(2, static_cast<double>(most_different_symbols))},
      width_choice.parameter(Width::automatic, "format of a token, little endian; auto: uint16 for a vocabulary of at most 65,536")};
  for (Parameter& parameter : window_parameters()) all.push_back(std::move(parameter));
  return all;
}

const Register<DataEntry> entry({
    .name = "tokens",
    .summary = "windows of a file of tokens, and the next token at each place; for networks that begin with an embedding",
    .parameters = declare(),
    .inspect = inspect,
    .load = load,
    .seeded = false,
    .files = [](const Parameters& parameters, const fs::path& base) { return std::vector{base / parameters.text("path")}; },
});

}  // namespace
}  // namespace straggler::data::tokens
