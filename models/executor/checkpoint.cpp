#include "models/executor/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/base/ascii.hpp"
#include "sim/base/aside_file.hpp"
#include "sim/base/format_version.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "words are written as they lie in memory");

static_assert(FormatVersion::checkpoint < 10, "the mark has room for one digit");
constexpr std::array<char, 16> mark = {'s', 't', 'r', 'a', 'g', 'g', 'l', 'e',
                                       'r', ' ', 's', 'a', 'v', 'e', ' ', '0' + FormatVersion::checkpoint};
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t buffer_bytes = 1 << 20;
constexpr const char* damaged = "is truncated or damaged; remove it, and the run starts from the beginning";

/// Floats are padded to whole words.
std::size_t padded(std::size_t length) { return (length + 1) / 2 * 2; }

/// A checkpoint while it is written.
class Words {
 public:
  explicit Words(const fs::path& target) : aside_(target), file_(std::fopen(aside_.path().c_str(), "wbxe")) {
    if (!file_) fail(errno);
    std::setvbuf(file_, nullptr, _IOFBF, buffer_bytes);
  }
  ~Words() {
    if (file_) std::fclose(file_);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  /// Padded to whole words with zeros.
  void add(const void* data, std::size_t bytes) {
    constexpr char zeros[word_bytes] = {};
    put(data, bytes);
    put(zeros, (word_bytes - bytes % word_bytes) % word_bytes);
    hasher_.add_bytes(data, bytes);
  }
  void add(std::uint64_t word) { add(&word, sizeof word); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(const Key& key) {
    add(key.high);
    add(key.low);
  }
  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    add(text.data(), text.size());
  }
  /// Appends the hash and moves the file into place. Returns its size.
  std::uint64_t commit() {
    const Key hash = hasher_.key();
    put(&hash.high, word_bytes);
    put(&hash.low, word_bytes);
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
    if (const std::error_code error = aside_.put_into_place()) fail(error.value());
    return bytes_;
  }

 private:
  void put(const void* data, std::size_t bytes) {
    if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail(errno);
    bytes_ += bytes;
  }
  [[noreturn]] void fail(int error) const {
    throw DataError(fmt::format("{}: the checkpoint cannot be written ({}); make room, or choose another folder with --out",
                                aside_.place().string(), std::strerror(error)));
  }

  AsideFile aside_;
  std::FILE* file_ = nullptr;
  std::uint64_t bytes_ = 0;
  Hasher hasher_;
};

}  // namespace

void probe_checkpoint(const fs::path& file) { const Words probe(file); }

std::uint64_t write_checkpoint(const fs::path& file, const CheckpointHead& head, const std::vector<Executor::LiveValue>& values,
                               std::size_t length) {
  Words out(file);
  out.add(mark.data(), mark.size());
  out.add(head.identity.scenario);
  out.add(head.identity.root);
  out.add(head.identity.kernels);
  out.add(head.identity.build);
  out.add(head.interval.seconds);
  out.add(head.interval.updates);
  out.add(head.version);
  out.add(std::uint64_t{head.forced.size()});
  for (const std::uint64_t version : head.forced) out.add(version);
  out.add(std::uint64_t{head.evaluations.size()});
  for (const LoggedEvaluation& each : head.evaluations) {
    out.add(each.weights);
    out.add(static_cast<std::uint64_t>(each.set));
    out.add(each.result.loss);
    out.add(each.result.accuracy);
  }
  out.add(std::uint64_t{values.size()});
  out.add(std::uint64_t{length});
  for (const Executor::LiveValue& each : values) {
    out.add(each.key);
    out.add(each.values, length * sizeof(float));
  }
  return out.commit();
}

CheckpointFile::CheckpointFile(const fs::path& file) : path_(file), file_(std::fopen(file.c_str(), "rbe")) {
  if (!file_) throw DataError(fmt::format("{}: cannot be opened ({}); make it readable", path_.string(), std::strerror(errno)));
  std::setvbuf(file_.get(), nullptr, _IOFBF, buffer_bytes);
  verify();
  read_head();
}

void CheckpointFile::fail(const std::string& sentence) const { throw DataError(fmt::format("{}: {}", path_.string(), sentence)); }

void CheckpointFile::verify() {
  std::error_code error;
  const std::uintmax_t size = fs::is_regular_file(path_, error) ? fs::file_size(path_, error) : 0;
  std::array<char, mark.size()> first{};
  const bool whole = size >= first.size() && std::fread(first.data(), 1, first.size(), file_.get()) == first.size();
  if (!whole || !std::equal(mark.begin(), mark.end() - 1, first.begin()) || !is_digit(first.back()))
    fail("is not a checkpoint that this program wrote; remove it, or choose another folder with --out");
  if (first != mark)
    fail(fmt::format("is a checkpoint of version {}; this program reads version {}; continue with the program that wrote it, or remove it",
                     first.back(), FormatVersion::checkpoint));
  if (size % word_bytes != 0 || size < mark.size() + 2 * word_bytes) fail(damaged);
  bytes_ = size;
  Hasher hasher;
  hasher.add_bytes(first.data(), first.size());
  std::vector<char> chunk(buffer_bytes);
  for (std::uint64_t left = size - mark.size() - 2 * word_bytes; left > 0;) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk.size()));
    if (std::fread(chunk.data(), 1, part, file_.get()) != part) fail(damaged);
    hasher.add_bytes(chunk.data(), part);
    left -= part;
  }
  Key stored;
  if (std::fread(&stored.high, word_bytes, 1, file_.get()) != 1 || std::fread(&stored.low, word_bytes, 1, file_.get()) != 1 ||
      stored != hasher.key())
    fail(damaged);
}

void CheckpointFile::read(void* to, std::size_t bytes) {
  if (std::fread(to, 1, bytes, file_.get()) != bytes) fail("can no longer be read; do not change it while the run continues from it");
}

std::uint64_t CheckpointFile::word() {
  std::uint64_t word = 0;
  read(&word, sizeof word);
  return word;
}

/// Bytes between the position and the hash.
std::uint64_t CheckpointFile::left() const {
  const long at = std::ftell(file_.get());
  const std::uint64_t end = bytes_ - 2 * word_bytes;
  return at < 0 || static_cast<std::uint64_t>(at) > end ? 0 : end - static_cast<std::uint64_t>(at);
}

/// A number of things that follow. The hash tells a damaged file, but whoever makes one up can hash it, too.
std::uint64_t CheckpointFile::count(std::uint64_t bytes_each) {
  const std::uint64_t number = word();
  if (number > left() / bytes_each) fail(damaged);
  return number;
}

std::string CheckpointFile::text() {
  const std::uint64_t size = count(1);
  std::string text((size + word_bytes - 1) / word_bytes * word_bytes, '\0');
  read(text.data(), text.size());
  text.resize(size);
  return text;
}

void CheckpointFile::read_head() {
  if (std::fseek(file_.get(), static_cast<long>(mark.size()), SEEK_SET) != 0) fail("cannot be read");
  const auto key = [this] {
    Key key;
    key.high = word();
    key.low = word();
    return key;
  };
  head_.identity.scenario = key();
  head_.identity.root = key();
  head_.identity.kernels = text();
  head_.identity.build = text();
  head_.interval.seconds = std::bit_cast<double>(word());
  head_.interval.updates = word();
  head_.version = word();
  head_.forced.resize(count(word_bytes));
  for (std::uint64_t& version : head_.forced) version = word();
  head_.evaluations.resize(count(5 * word_bytes));
  for (LoggedEvaluation& each : head_.evaluations) {
    each.weights = key();
    each.set = static_cast<EvaluationSet>(word());
    each.result.loss = std::bit_cast<double>(word());
    each.result.accuracy = std::bit_cast<double>(word());
  }
  values_ = count(2 * word_bytes);
  length_ = count(values_ > 0 ? sizeof(float) : 1);
  if (values_ > 0 && values_ != left() / (2 * word_bytes + padded(length_) * sizeof(float))) fail(damaged);
}

bool CheckpointFile::next(Key& key, std::vector<float>& floats) {
  if (taken_ == values_) return false;
  ++taken_;
  key.high = word();
  key.low = word();
  floats.resize(padded(length_));
  read(floats.data(), floats.size() * sizeof(float));
  floats.resize(length_);
  return true;
}

}  // namespace straggler
