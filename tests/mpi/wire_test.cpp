// What one rank packs another unpacks: keys, bookkeeping and values.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sim/base/registry.hpp"
#include "tests/mpi/values.hpp"

using namespace straggler;

namespace {

constexpr std::size_t length = 5;
constexpr Cut whole{length, length};

Contribution contribution(Rank worker, std::uint64_t samples) {
  Contribution made;
  made.worker = worker;
  made.steps = 3;
  made.samples = samples;
  made.read_version = 17;
  made.first_position = 1'000'000'000'000;
  return made;
}

bool same(const Contribution& a, const Contribution& b) {
  return a.worker == b.worker && a.steps == b.steps && a.samples == b.samples && a.read_version == b.read_version &&
         a.first_position == b.first_position;
}

std::vector<float> floats(std::span<const float> values) { return {values.begin(), values.end()}; }

/// On another rank, whose lineage is its own.
struct Receiver {
  Lineage lineage{Math::lazy, Key{1, 2}};
  HeldValues values{lineage};
};

/// In one part.
Bytes packed(const Payload& payload, Values& values) {
  std::vector<Bytes> parts = pack(payload, whole, values);
  REQUIRE(parts.size() == 1);
  return parts.front();
}

Payload unpacked(Values& values, const Bytes& bytes) { return unpack(whole, values, std::span(&bytes, 1)); }

/// Of the main part, and of the statistics.
std::pair<std::uint64_t, std::uint64_t> bytes_of(const Payload& payload, const Cut& cut) {
  const Parts parts = cut.wire_bytes().parts_of(payload);
  REQUIRE(parts.size() <= 2);
  if (parts.size() == 2) CHECK(parts[1].kind == Part::Kind::statistics);
  return {parts[0].bytes, parts.size() == 2 ? parts[1].bytes : 0};
}
using Pair = std::pair<std::uint64_t, std::uint64_t>;

}  // namespace

TEST_CASE("weights arrive with their values, their optimizer state and what was put into them") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  const float odd = std::numeric_limits<float>::denorm_min(), nan = std::numeric_limits<float>::quiet_NaN();
  Weights weights;
  WeightsState& state = weights.edit();
  state.participants = 7;
  state.version = 41;
  state.progress = 123'456'789'012;
  state.local_samples = 96;
  state.value = sender.made(11, {1, -0.0f, odd, nan, 5});
  state.more.edit().made.push_back(contribution(2, 64));
  state.more.edit().made.push_back(contribution(3, 32));
  state.more.edit().attached = {{"momentum", sender.made(12, {9, 8, 7, 6, 5})}, {"control", sender.made(13, {0, 0, 0, 0, 1})}};
  CHECK(vectors_in(weights).size() == 3);
  CHECK(bytes_of(weights, whole) == Pair{3 * length * sizeof(float), 0});

  Receiver there;
  const Bytes bytes = packed(weights, sender);
  const Payload payload = unpacked(there.values, bytes);
  REQUIRE(std::holds_alternative<Weights>(payload));
  const Weights& got = std::get<Weights>(payload);
  CHECK(got->participants == 7);
  CHECK(got->version == 41);
  CHECK(got->progress == 123'456'789'012);
  CHECK(got->local_samples == 96);
  CHECK(got->value.key() == weights->value.key());
  REQUIRE(got->made().size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(same(got->made()[i], weights->made()[i]));
  const std::vector<float> values = floats(there.values.of(got->value));
  CHECK(values[0] == 1);
  CHECK(std::signbit(values[1]));
  CHECK(values[2] == odd);
  CHECK(std::isnan(values[3]));
  REQUIRE(got->attached().size() == 2);
  CHECK(floats(there.values.of(got->attached()[0].value)) == std::vector<float>{9, 8, 7, 6, 5});
  CHECK(got->attached()[1].value.key() == Key{13, ~std::uint64_t{13}});
}

TEST_CASE("a gradient arrives with its value, and with how far the weights were that it was taken at") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Gradient gradient;
  GradientState& state = gradient.edit();
  state.averaged = 2.5;  // of unequal batches
  state.take(sender.made(21, {1, 2, 3, 4, 5}), {70, 3, 50});
  state.at.edit().version = 6;
  state.at.edit().progress = 600;
  state.at.edit().value = sender.made(22, {0, 0, 0, 0, 0});
  state.worker = 1;
  CHECK(vectors_in(gradient).size() == 1);

  for (const bool several : {false, true}) {
    if (several) {
      state.more.edit().samples = 82;
      state.more.edit().made.push_back(contribution(1, 50));
      state.more.edit().made.push_back(contribution(2, 32));
    }
    Receiver there;
    const Bytes bytes = packed(gradient, sender);
    const Payload payload = unpacked(there.values, bytes);
    const Gradient& got = std::get<Gradient>(payload);
    CHECK(got->averaged == 2.5f);
    CHECK(got->version() == 6);
    CHECK(got->progress() == 600);
    CHECK(got->at->value.key() == gradient->at->value.key());
    CHECK(got->at->value.node() == nullptr);  // a name: nobody looks at them
    CHECK(got->samples() == (several ? 82 : 50));
    REQUIRE(got->made().size() == (several ? 2 : 1));
    for (std::size_t i = 0; i < got->made().size(); ++i) CHECK(same(got->made()[i], gradient->made()[i]));
    CHECK(floats(there.values.of(got->value())) == std::vector<float>{1, 2, 3, 4, 5});
  }
}

TEST_CASE("a worker that took no step sends no values") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Gradient none;
  none.edit().worker = 5;
  CHECK(vectors_in(none).empty());
  CHECK(bytes_of(none, whole) == Pair{0, 0});
  Receiver there;
  const Bytes bytes = packed(none, sender);
  const Payload got = unpacked(there.values, bytes);
  CHECK(std::get<Gradient>(got)->value().empty());
  CHECK(std::get<Gradient>(got)->worker == 5);
}

TEST_CASE("names travel without values, and refer to nodes that can be given one") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Weights weights;
  weights.edit().value = sender.made(31, {1, 2, 3, 4, 5});
  Receiver there;
  Packer packer;
  pack_names(weights, packer);
  const Bytes bytes = packer.take();
  CHECK(bytes.size() < packed(weights, sender).size() - length * 4 + alignof(float));
  Unpacker unpacker(bytes);
  const Payload got = unpack_names(there.values, unpacker);
  const Handle& value = std::get<Weights>(got)->value;
  CHECK(value.key() == weights->value.key());
  CHECK(value.node() != nullptr);
  CHECK(!there.values.known(value));
}

TEST_CASE("long vectors travel apart, and are given the places in which they were received; fragments and statistics stay inside") {
  constexpr std::size_t floats_apart = HeldValues::lent;
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  std::vector<float> long_one(floats_apart), other(floats_apart);
  for (std::size_t i = 0; i < floats_apart; ++i) long_one[i] = static_cast<float>(i), other[i] = -long_one[i];
  Weights weights;
  weights.edit().value = sender.made(31, long_one);
  weights.edit().more.edit().attached = {{"none", Handle()}, {"momentum", sender.made(32, other)}};
  const auto packed_apart = [&](const Payload& payload, const Cut& cut, std::size_t inside) {
    std::vector<std::shared_ptr<const float>> apart;
    const std::vector<Bytes> parts = pack(payload, cut, sender, &apart);
    CHECK(parts.front().size() >= inside);
    CHECK(parts.front().size() < inside + 512);
    return std::pair(parts, apart);
  };
  constexpr std::size_t all = 2 * floats_apart * sizeof(float);
  const Cut cut(floats_apart, floats_apart);
  const auto [parts, apart] = packed_apart(weights, cut, 0);
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].get() == sender.of(weights->value).data());  // no copy
  CHECK(packed_apart(weights, Cut(floats_apart, floats_apart - 1), all - 2 * sizeof(float)).second.empty());
  CHECK(packed_apart(Token{3, 8}, cut, 8).second.empty());
  Weights piece = weights;
  piece.edit().more.edit().fragment = {1, 2};
  CHECK(packed_apart(piece, cut, all / 2).second.empty());

  for (const std::size_t there_are : {0u, 1u, 2u, 3u}) {
    Receiver there;
    std::vector<LentFloats> received;
    for (std::size_t k = 0; k < there_are; ++k) {
      received.push_back(there.values.lend());
      std::copy_n(apart[std::min<std::size_t>(k, 1)].get(), floats_apart, received.back().get());
    }
    if (there_are != 2) {
      CHECK_THROWS_AS(unpack(cut, there.values, parts, received), std::logic_error);
      continue;
    }
    const Payload payload = unpack(cut, there.values, parts, received);
    const Weights& got = std::get<Weights>(payload);
    CHECK(floats(there.values.of(got->value)) == long_one);
    REQUIRE(got->attached().size() == 2);
    CHECK(got->attached()[0].value.empty());
    CHECK(floats(there.values.of(got->attached()[1].value)) == other);
  }
}

TEST_CASE("a message that was cut short is an error, wherever the cut is; so is one with more bytes") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Weights weights;
  weights.edit().value = sender.made(41, {1, 2, 3, 4, 5});
  weights.edit().more.edit().made.push_back(contribution(0, 1));
  const Bytes all = packed(weights, sender);
  for (std::size_t size = 0; size < all.size(); ++size) {
    Receiver there;
    Bytes cut(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_THROWS_AS(unpacked(there.values, cut), std::logic_error);
  }
  Bytes longer = all;
  longer.push_back(std::byte{0});
  Receiver there;
  CHECK_THROWS_AS(unpacked(there.values, longer), std::logic_error);
}

TEST_CASE("the number that ends a message is taken off, and a message without one is an error") {
  Packer packer;
  packer.put(std::uint8_t{7});
  packer.put(std::uint64_t{1} << 40);
  Bytes message = packer.take();
  CHECK(take_last_number(message) == std::uint64_t{1} << 40);
  CHECK(message == Bytes{std::byte{7}});
  for (std::size_t size = 0; size < sizeof(std::uint64_t); ++size) {
    Bytes cut(size, std::byte{1});
    CHECK_THROWS_AS(take_last_number(cut), std::logic_error);
  }
}

TEST_CASE("running statistics at the end of vectors are a separate message, and whole vectors come out") {
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Weights weights;
  weights.edit().value = sender.made(51, {1, 2, 3, 4, 5});
  weights.edit().more.edit().attached = {{"momentum", sender.made(52, {6, 7, 8, 9, 10})}, {"none", Handle()}};
  const Cut cut{length, 3};
  std::vector<Bytes> parts = pack(weights, cut, sender);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].size() == 2 * 2 * sizeof(float));
  CHECK(parts[0].size() + parts[1].size() <= packed(weights, sender).size() + alignof(float));
  Receiver there;
  const Payload payload = unpack(cut, there.values, parts);
  const Weights& got = std::get<Weights>(payload);
  CHECK(floats(there.values.of(got->value)) == std::vector<float>{1, 2, 3, 4, 5});
  REQUIRE(got->attached().size() == 2);
  CHECK(floats(there.values.of(got->attached()[0].value)) == std::vector<float>{6, 7, 8, 9, 10});
  CHECK(got->attached()[1].value.empty());
  parts[1].pop_back();
  CHECK_THROWS_AS(unpack(cut, there.values, parts), std::logic_error);
  parts.pop_back();
  CHECK_THROWS_AS(unpack(cut, there.values, parts), std::logic_error);
}

TEST_CASE("a compressed gradient travels encoded; its registers travel whole") {
  const Codec codec{&Registry<CompressorEntry>::instance().at("top_k"), {}};
  Cut cut(6, 4, 4);  // four parameters, two running statistics
  cut.codec = &codec;
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  Gradient gradient;
  gradient.edit().derive(sender.made(1, {0, -5, 7, 0, 11, 12}));
  gradient.edit().more.edit().compressed = CompressedForm{16, {0.5}};
  const std::vector<Bytes> parts = pack(gradient, cut, sender);
  CHECK(bytes_of(gradient, cut) == Pair{16, 8});
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].size() == 8);
  Receiver receiver;
  const auto arrived = std::get<Gradient>(unpack(cut, receiver.values, parts));
  CHECK(floats(receiver.values.of(arrived->value())) == std::vector<float>{0, -5, 7, 0, 11, 12});
  CHECK(arrived->more.get().compressed->bytes == 16);
  CHECK(arrived->more.get().compressed->scalars == std::vector{0.5});
  CHECK(bytes_of(arrived, cut) == Pair{16, 8});
  CHECK(!arrived->fusible());
  // Bytes that are stated wrongly, and ranks that cannot read it.
  gradient.edit().more.edit().compressed->bytes = 24;
  CHECK_THROWS_AS(pack(gradient, cut, sender), std::logic_error);
  CHECK_THROWS_AS(pack(gradient, Cut(6, 4, 4), sender), std::logic_error);
}

TEST_CASE("compressed weights travel as a difference from weights that the receiver holds") {
  const Codec codec{&Registry<CompressorEntry>::instance().at("top_k"), {}};
  Cut cut(6, 4, 4);  // four parameters, two running statistics
  cut.codec = &codec;
  Lineage lineage(Math::lazy, Key{1, 2});
  HeldValues sender(lineage);
  const Handle base = sender.made(1, {1, 2, 3, 4, 5, 6}), change = sender.made(2, {0, -5, 7, 0, 11, 12});
  Weights weights;
  weights.edit().version = 9;
  weights.edit().value = sender.moved(base, change);
  weights.edit().more.edit().difference =
      std::make_shared<const WeightsDifference>(WeightsDifference{base, change, CompressedForm{16, {0.5}}, weights->value.key()});
  CHECK(bytes_of(weights, cut) == Pair{16, 8});
  CHECK(cut.wire_bytes().spared_of(weights) == 0);  // 4 floats are 16 bytes, too
  const std::vector<Bytes> parts = pack(weights, cut, sender);

  Receiver holds;
  holds.values.made(1, {1, 2, 3, 4, 5, 6});
  const auto arrived = std::get<Weights>(unpack(cut, holds.values, parts));
  CHECK(arrived->version == 9);
  CHECK(arrived->value.key() == weights->value.key());
  const std::vector<float> values = floats(holds.values.of(arrived->value));
  CHECK(std::vector<float>(values.begin(), values.begin() + 4) == std::vector<float>{1, -3, 10, 4});
  REQUIRE(arrived->difference());
  CHECK(bytes_of(arrived, cut) == Pair{16, 8});
  // What is made of them is another message.
  Weights stepped = arrived;
  stepped.edit().value = holds.values.made(5, {0, 0, 0, 0, 0, 0});
  CHECK(!stepped->difference());

  Receiver knows_nothing;
  CHECK_THROWS_AS(unpack(cut, knows_nothing.values, parts), std::logic_error);
}
