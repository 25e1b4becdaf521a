#include "models/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "models/data/permutation.hpp"

namespace straggler {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18, lanes = 4;

/// In independent lanes, whose words do not wait for each other.
Key hash_block(const char* bytes, std::size_t count) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const std::size_t words = count / word_bytes / lanes, done = words * lanes * word_bytes;
  Hasher of_lane[lanes];
  for (std::size_t i = 0; i < words; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + (lane * words + i) * word_bytes, word_bytes);
      of_lane[lane].add(word);
    }
  Hasher hasher;
  for (const Hasher& lane : of_lane) hasher.add(lane.key());
  return hasher.add_bytes(bytes + done, count - done).key();
}

Key hash_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot be opened ({}); make it readable", path.string(), std::strerror(errno)));
  std::vector<char> block(block_bytes);
  Hasher hasher;
  std::uint64_t total = 0;
  do {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    hasher.add(hash_block(block.data(), count));
    total += count;
  } while (in);
  if (in.bad()) throw DataError(fmt::format("{}: cannot be read ({}); get an undamaged file", path.string(), std::strerror(errno)));
  return hasher.add(total).key();
}

}  // namespace

Key content_of(const DataEntry& entry, const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed) {
  Hasher hasher;
  hasher.add(std::string_view(entry.name));
  for (const Parameter& declared : entry.parameters)
    if (declared.type != ValueType::path && parameters.has(declared.name)) {
      hasher.add(std::string_view(declared.name));
      add(hasher, parameters.all().at(declared.name));
    }
  if (entry.files)
    for (const std::filesystem::path& file : entry.files(parameters, base)) hasher.add(hash_file(file));
  if (entry.seeded) hasher.add(seed);
  return hasher.key();
}

std::vector<std::uint32_t> choose(std::size_t count, std::size_t total, RandomStream random) {
  std::vector<std::uint32_t> all(total);
  std::iota(all.begin(), all.end(), 0u);
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(total - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

const std::int32_t* DataSplit::labels_of(std::size_t first, std::size_t count, std::vector<std::int32_t>& room) const {
  if (!inputs.windows()) return labels.data() + first;
  room.resize(count * places());
  for (std::size_t i = 0; i < count; ++i) std::copy_n(labels_of(first + i), places(), room.data() + i * places());
  return room.data();
}

DataSplit DataSplit::subset(std::span<const std::uint32_t> samples) const {
  DataSplit part{inputs.subset(samples), {}};
  if (!inputs.windows())
    for (const std::uint32_t sample : samples) part.labels.push_back(labels[sample]);
  return part;
}

namespace {

std::size_t held_out(std::size_t train, double fraction) {
  return static_cast<std::size_t>(std::llround(fraction * static_cast<double>(train)));
}

}  // namespace

std::size_t kept_for_training(std::size_t train, std::size_t overlap, double fraction) {
  if (!(fraction >= 0 && fraction < 1))
    throw std::invalid_argument(fmt::format("a validation share of {}; it must be at least 0 and below 1", fraction));
  const std::size_t held = held_out(train, fraction), gone = held > 0 ? held + overlap : 0;
  if (gone > 0 && gone >= train)
    throw std::invalid_argument(fmt::format("a validation share of {} leaves no training sample of {}; use less", fraction, train));
  return train - gone;
}

void hold_out_validation(Dataset& data, double fraction, std::uint64_t seed) {
  const std::size_t total = data.train.count(), left = kept_for_training(total, data.info.overlap, fraction),
                    count = held_out(total, fraction);
  if (count == 0) return;
  data.info.train = left;
  if (data.info.symbols > 0) {
    std::vector<std::uint32_t> all(total);
    std::iota(all.begin(), all.end(), 0u);
    data.validation = data.train.subset(std::span(all).last(count));
    data.train = data.train.subset(std::span(all).first(left));
    return;
  }
  const std::vector<std::uint32_t> held = choose(count, total, RandomStream(seed, "data/validation"));
  DataSplit& train = data.train;
  DataSplit& validation = data.validation;
  validation.inputs = train.inputs.take(held);
  validation.labels.reserve(count);
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i < total; ++i) {
    if (next < count && held[next] == i) {
      ++next;
      validation.labels.push_back(train.labels[i]);
    } else {
      train.labels[kept++] = train.labels[i];
    }
  }
  train.labels.resize(kept);
}

}  // namespace straggler
