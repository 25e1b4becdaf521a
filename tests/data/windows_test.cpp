// Windows of texts and of tokens: what is in them, how many there are, what is held out, and what is refused.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::windows_test {
namespace {

Parameters with_path(const DataEntry& entry, Parameters given) {
  if (!given.has("path")) given.set("path", std::string("text"));
  return complete(entry.parameters, std::move(given));
}

struct Kind {
  const DataEntry& entry;
  const TemporaryFolder folder = {};
  explicit Kind(const char* name) : entry(Registry<DataEntry>::instance().at(name)) {}

  Dataset load(Parameters given = {}) const { return entry.load(with_path(entry, std::move(given)), folder.path(), 1, 1); }
  DataInfo inspect(Parameters given = {}) const { return entry.inspect(with_path(entry, std::move(given)), folder.path()); }
  Key content(Parameters given = {}) const { return content_of(entry, with_path(entry, std::move(given)), folder.path(), 1); }
  std::string refusal(Parameters given = {}) const {
    const std::string refused = error_of<DataError>([&] { load(given); });
    CHECK(std::count(refused.begin(), refused.end(), '\n') == 0);
    return refused;
  }
};

const Value number(std::int64_t count) { return count; }
const Value word(const char* text) { return std::string(text); }

std::vector<std::int32_t> inputs_of(const DataSplit& split, std::size_t sample) {
  std::vector<float> floats(split.inputs.features());
  split.inputs.copy(sample, floats.data());
  return {floats.begin(), floats.end()};
}
std::vector<std::int32_t> labels_of(const DataSplit& split, std::size_t sample) {
  return {split.labels_of(sample), split.labels_of(sample) + split.places()};
}

/// `count` bytes, each its place modulo 100 after a space.
std::string counted(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(' ' + i % 90);
  return text;
}

std::string bytes_of(const std::vector<std::uint32_t>& tokens, std::size_t width) {
  std::string file;
  for (const std::uint32_t token : tokens)
    for (std::size_t byte = 0; byte < width; ++byte) file += static_cast<char>(token >> (8 * byte) & 0xFF);
  return file;
}

}  // namespace

TEST_CASE("windows begin at every stride of each part, and each place has the symbol after it for a label") {
  const Kind characters("characters");
  constexpr std::size_t all = 1000;
  characters.folder.write("text", counted(all));
  for (const std::size_t context : {1u, 7u, 64u})
    for (const std::size_t stride : {1u, 5u, 64u, 200u})
      for (const double share : {0.1, 0.25}) {
        CAPTURE(context);
        CAPTURE(stride);
        const auto whole = [](std::size_t n) { return number(static_cast<std::int64_t>(n)); };
        const Parameters given{
            {"context", whole(context)}, {"stride", whole(stride)}, {"test_share", share}, {"vocabulary", word("bytes")}};
        const Dataset data = characters.load(given);
        const std::size_t to_train = all - static_cast<std::size_t>(share * all);
        CHECK(data.train.count() == (to_train - 1 - context) / stride + 1);
        CHECK(data.test.count() == (all - to_train - 1 - context) / stride + 1);
        CHECK(data.info.train == data.train.count());
        CHECK(data.info.test == data.test.count());
        CHECK(data.info.places() == context);
        for (const auto& [split, begin] : {std::pair(&data.train, std::size_t{0}), std::pair(&data.test, to_train)})
          for (std::size_t sample = 0; sample < split->count(); ++sample) {
            const std::vector<std::int32_t> inputs = inputs_of(*split, sample), labels = labels_of(*split, sample);
            for (std::size_t i = 0; i < context; ++i) {
              const std::size_t at = begin + sample * stride + i;
              REQUIRE(inputs[i] == ' ' + static_cast<std::int32_t>(at % 90));
              REQUIRE(labels[i] == ' ' + static_cast<std::int32_t>((at + 1) % 90));
              REQUIRE(at + 1 < (split == &data.train ? to_train : all));
            }
          }
        const DataInfo seen = characters.inspect(given);
        CHECK(seen.train == data.info.train);
        CHECK(seen.test == data.info.test);
        CHECK(seen.classes == 256);
      }
  // The default stride is the context.
  CHECK(characters.inspect({{"context", number(10)}}).train == (900 - 11) / 10 + 1);
}

TEST_CASE("windows are read as their floats, in any layout and any choice") {
  const Kind characters("characters");
  characters.folder.write("text", counted(1000));
  const SampleInputs windows = characters.load({{"context", number(5)}, {"stride", number(3)}}).train.inputs;
  const std::vector<std::uint32_t> chosen = {7, 0, 7, 250, 33};
  std::vector<float> all(windows.count() * 5), room(all.size()), picked;
  for (std::size_t i = 0; i < windows.count(); ++i) windows.copy(i, all.data() + 5 * i);
  const float* const rows = windows.rows(0, windows.count(), room.data());
  CHECK(std::vector<float>(rows, rows + all.size()) == all);
  CHECK(*windows.rows(9, 1, room.data()) == all[45]);
  for (const std::uint32_t sample : chosen) picked.insert(picked.end(), all.begin() + 5 * sample, all.begin() + 5 * sample + 5);
  CHECK(floats({windows.subset(chosen), {}}) == picked);
  for (const Kernels* kernels : all_kernels()) {
    std::vector<float> panels(panel_floats(chosen.size(), 5));
    windows.gather_panels(*kernels, chosen, panels.data());
    CHECK(samples_of(panels, chosen.size(), 5) == picked);
  }
  SampleInputs rest = windows;
  const std::vector<std::uint32_t> first = {0, 1, 4};
  CHECK(floats({rest.take(first), {}}) == floats({windows.subset(first), {}}));
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < windows.count(); ++i)
    if (i != 0 && i != 1 && i != 4) others.push_back(i);
  CHECK(floats({rest, {}}) == floats({windows.subset(others), {}}));
}

TEST_CASE("characters are code points of the text, sorted, or bytes") {
  const Kind characters("characters");
  characters.folder.write("text",
                          "b\xC3\xA9"
                          "a\xE4\xB8\x96\xF0\x9F\x98\x80"
                          "a\n");  // b é a 世 (a face) a
  const Parameters given{{"context", number(2)}, {"test_share", 0.45}, {"stride", number(1)}};
  const Dataset data = characters.load(given);
  CHECK(data.info.symbols == 6);  // \n a b é 世 (a face)
  CHECK(data.info.classes == 6);
  CHECK(inputs_of(data.train, 0) == std::vector<std::int32_t>{2, 3});
  CHECK(labels_of(data.train, 0) == std::vector<std::int32_t>{3, 1});
  CHECK(inputs_of(data.test, 0) == std::vector<std::int32_t>{4, 5});  // of seven, three are trained on
  CHECK(labels_of(data.test, 0) == std::vector<std::int32_t>{5, 1});
  Parameters bytes = given;
  bytes.set("vocabulary", word("bytes"));
  CHECK(characters.load(bytes).info.symbols == 256);
  CHECK(inputs_of(characters.load(bytes).train, 0) == std::vector<std::int32_t>{'b', 0xC3});
  // A character may lie on both sides of a piece in which the file is read.
  for (std::size_t before = (1 << 20) - 4; before < (1 << 20) + 1; ++before) {
    characters.folder.write("text", std::string(before, 'x') + "\xF0\x9F\x98\x80" + std::string(10, 'y'));
    CHECK(characters.inspect().classes == 3);
  }
}

TEST_CASE("a compressed text has the same windows, and what is in a file makes its key") {
  const Kind characters("characters");
  const std::string text = counted(2000);
  characters.folder.write("text", text);
  gzFile file = gzopen((characters.folder / "text.gz").c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(file);
  const Dataset plain = characters.load(), packed = characters.load({{"path", word("text.gz")}});
  CHECK(floats(plain.train) == floats(packed.train));
  CHECK(labels_of(plain.test, 0) == labels_of(packed.test, 0));
  const Key before = characters.content();
  CHECK(before != characters.content({{"context", number(32)}}));
  CHECK(before != characters.content({{"vocabulary", word("bytes")}}));
  characters.folder.write("text", text + "!");
  CHECK(before != characters.content());
}

TEST_CASE("texts that make no windows are refused in a line") {
  const Kind characters("characters");
  CHECK(has(characters.refusal(), "text: no such file; give the path of a text"));
  characters.folder.write("text", "");
  CHECK(has(characters.refusal(), "text: is empty; give a text"));
  characters.folder.write("text", counted(100));  // 90 to train on, 10 to test
  CHECK(has(characters.refusal(), "has 100 characters: 90 to train on and 10 to test on, and a sample takes 65"));
  CHECK(characters.inspect({{"context", number(9)}}).test == 1);
  characters.folder.write("text", std::string("some\ntext\0and more", 18));
  CHECK(has(characters.refusal(), "byte 9 (line 2) is zero, which no text has; give a text, or use vocabulary: bytes"));
  for (const char* const wrong : {"\xFF", "\xC3(", "\xE4\xB8", "\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80", "\x80"}) {
    for (const std::string& after : {std::string(), std::string("more"), std::string(1 << 20, 'z')}) {
      characters.folder.write("text", "ab\ncd" + std::string(wrong) + after);
      CHECK(has(characters.refusal(), "byte 5 (line 2) is not UTF-8; give a whole text in UTF-8, or use vocabulary: bytes"));
    }
  }
  characters.folder.write("text", std::string(2000, '\0'));
  CHECK(characters.load({{"vocabulary", word("bytes")}}).train.count() == (1800 - 65) / 64 + 1);
  characters.folder.write("text", std::string("\x1f\x8b\x08 of no stream"));
  CHECK(has(characters.refusal(), "; get "));
}

TEST_CASE("tokens are 16 or 32 bits wide, by the vocabulary or as told, and below it") {
  const Kind tokens("tokens");
  std::vector<std::uint32_t> all(400);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>((i * 7919) % 50'257);
  const auto given = [](std::int64_t vocabulary, const char* width = "auto") {
    return Parameters{{"vocabulary", number(vocabulary)}, {"width", word(width)}, {"context", number(8)}};
  };
  tokens.folder.write("text", bytes_of(all, 2));
  const Dataset narrow = tokens.load(given(50'257));
  CHECK(narrow.info.symbols == 50'257);
  CHECK(narrow.train.count() == (360 - 9) / 8 + 1);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(inputs_of(narrow.train, 3)[i] == static_cast<std::int32_t>(all[24 + i]));
    CHECK(labels_of(narrow.test, 0)[i] == static_cast<std::int32_t>(all[361 + i]));
  }
  CHECK(floats(tokens.load(given(65'536)).train) == floats(narrow.train));
  CHECK(floats(tokens.load(given(100'000, "uint16")).train) == floats(narrow.train));
  tokens.folder.write("text", bytes_of(all, 4));
  CHECK(floats(tokens.load(given(65'537)).train) == floats(narrow.train));
  CHECK(floats(tokens.load(given(50'257, "uint32")).train) == floats(narrow.train));
  CHECK(has(error_of<DataError>([&] { tokens.inspect(given(50'257)); }), "set width: uint32, or width: uint16"));
  CHECK(tokens.load(given(50'257, "uint16")).train.count() == (720 - 9) / 8 + 1);  // as it is told

  CHECK(has(tokens.refusal({{"vocabulary", number(9)}, {"path", word("none")}}), "none: no such file; give a file of tokens"));
  CHECK(has(tokens.refusal(given(5000, "uint32")), "token 7919 at position 1 (byte 4) is beyond the vocabulary, 0 to 4999"));
  tokens.folder.write("text", bytes_of(all, 2) + "x");
  CHECK(has(tokens.refusal(given(50'257)), "has 801 bytes, which is no whole number of tokens of 2; get the whole file"));
  tokens.folder.write("text", "");
  CHECK(has(tokens.refusal(given(50'257)), "is empty; give a file of tokens"));
  tokens.folder.write("text", bytes_of({1, 2, 3}, 2));
  CHECK(has(tokens.refusal(given(50'257)), "has 3 tokens: 2 to train on and 1 to test on, and a sample takes 9"));
}

TEST_CASE("validation holds out the last windows to train on, of which none shares a symbol with those that stay") {
  const Kind characters("characters");
  characters.folder.write("text", counted(5000));
  for (const std::int64_t stride : {1, 10, 64, 100}) {
    CAPTURE(stride);
    Dataset data = characters.load({{"stride", number(stride)}, {"vocabulary", word("bytes")}});
    const std::size_t all = data.train.count(), held = static_cast<std::size_t>(std::llround(0.1 * static_cast<double>(all)));
    const std::vector<std::int32_t> last = inputs_of(data.train, all - 1);
    hold_out_validation(data, 0.1, 1);
    CHECK(data.validation.count() == held);
    CHECK(data.info.train == data.train.count());
    CHECK(data.train.count() == kept_for_training(all, data.info.overlap, 0.1));
    CHECK(inputs_of(data.validation, held - 1) == last);
    // Window i has the symbols i stride .. i stride + 63 as inputs.
    const std::size_t stays = data.train.count(), wide = static_cast<std::size_t>(stride);
    CHECK((stays - 1) * wide + 64 <= (all - held) * wide);
    CHECK((stays)*wide + 64 > (all - held) * wide);  // one more would not do
  }
}

TEST_CASE("partitions by class refuse windows by name, and the others deal them") {
  PartitionRequest request;
  request.workers = 3;
  request.samples = 30;
  request.classes = 5;
  request.one_label = false;
  std::set<std::string> refused;
  for (const PartitionEntry& entry : Registry<PartitionEntry>::instance().entries()) {
    if (entry.name == "by_file") continue;
    Parameters given;
    if (entry.name == "dirichlet") given.set("alpha", 1.0);
    const std::string error = error_of<std::invalid_argument>([&] { entry.sizes(complete(entry.parameters, given), request); });
    if (error.empty()) continue;
    CHECK(has(error, "deals samples by their class, and a window of a text has none"));
    CHECK(error.starts_with(entry.name));
    refused.insert(entry.name);
  }
  CHECK(refused == std::set<std::string>{"dirichlet", "shards", "sorted_runs"});
  const PartitionEntry& runs = Registry<PartitionEntry>::instance().at("sorted_runs");
  const Parameters in_order = complete(runs.parameters, {{"order", word("file")}});
  CHECK(runs.sizes(in_order, request).sizes == std::vector<std::uint64_t>{10, 10, 10});
  std::vector<std::uint32_t> second;
  request.reshuffle = false;
  runs.make(in_order, request)->samples({0, 1, 10}, second);
  CHECK(std::set<std::uint32_t>(second.begin(), second.end()) == std::set<std::uint32_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
}

}  // namespace straggler::test::windows_test
