// Data sets, vocabularies and partitions.
#include <span>

#include "models/data/dataset.hpp"
#include "models/data/idx.hpp"
#include "models/data/partition.hpp"
#include "models/data/word_list.hpp"
#include "sim/base/registry.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

void idx(std::string_view input) {
  const std::string file = write_file("data-idx", input);
  std::size_t dimensions = 1;
  may_refuse<DataError>([&] { dimensions = idx_dimensions(file); });
  for (const std::size_t each : {std::size_t{1}, dimensions}) may_refuse<DataError>([&] { read_idx(file, each); });
}
const AddTarget add_idx("idx", "an IDX file, plain or gzipped", idx);

/// Sizes and samples must agree.
void load(const char* kind, Parameters given) {
  const DataEntry& entry = Registry<DataEntry>::instance().at(kind);
  const Parameters parameters = complete(entry.parameters, std::move(given));
  may_refuse<DataError>([&] {
    const DataInfo info = entry.inspect_seeded ? entry.inspect_seeded(parameters, {}, 1) : entry.inspect(parameters, {});
    const Dataset data = entry.load(parameters, {}, 1, 1);
    if (data.train.count() != info.train || data.test.count() != info.test) throw Find("other samples than announced");
    if (data.train.inputs.count() != info.train || data.train.inputs.features() != info.features) throw Find("inputs of another size");
    for (const DataSplit* const split : {&data.train, &data.test})
      for (std::size_t sample = 0; sample < split->count(); ++sample)
        for (const std::int32_t label : std::span(split->labels_of(sample), split->places()))
          if (label < 0 || static_cast<std::size_t>(label) >= info.classes) throw Find("a label beyond the classes");
  });
}

/// One file for images and labels alike; the first four bytes, if they are there, are cut off for the labels.
void idx_data(std::string_view input) {
  const std::size_t half = input.size() < 2 ? input.size() : std::min<std::size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  const std::string images = write_file("images", input.substr(std::min<std::size_t>(1, input.size())).substr(0, half));
  const std::string labels = write_file("labels", input.substr(std::min(half + 1, input.size())));
  load("idx", {{"train_images", images}, {"train_labels", labels}, {"test_images", images}, {"test_labels", labels}});
}
const AddTarget add_idx_data("idx_data", "IDX images and labels as a data set: length of the first, both files", idx_data);

void cifar(std::string_view input) {
  // A few bytes stand for a record: mutations of 3 kB find nothing.
  std::string bytes;
  for (const char c : input.substr(0, 16)) bytes += c + std::string(3072, c);
  if (!input.empty() && input.back() == '\n') bytes.pop_back();
  for (int k = 1; k <= 5; ++k) write_file("cifar/data_batch_" + std::to_string(k) + ".bin", bytes);
  write_file("cifar/test_batch.bin", bytes);
  load("cifar10", {{"path", (workplace() / "cifar").string()}});
}
const AddTarget add_cifar("cifar", "CIFAR-10 records, one for each byte", cifar);

void csv(std::string_view input) {
  const std::string file = write_file("data.csv", input);
  load("csv", {{"path", file}});
  load("csv", {{"path", file}, {"label", std::string("first")}, {"header", std::string("present")}});
  load("csv", {{"path", file}, {"label", std::string("2")}, {"separator", std::string("space")}, {"test_path", file}});
}
const AddTarget add_csv("csv", "a table of samples", csv);

void text(std::string_view input) {
  const std::string file = write_file("text", input);
  load("text", {{"path", file}, {"min_count", std::int64_t{1}}, {"window", std::int64_t{2}}});
}
const AddTarget add_text("text", "a text for word vectors, plain or gzipped", text);

void characters(std::string_view input) {
  const std::string file = write_file("characters", input);
  load("characters", {{"path", file}, {"context", std::int64_t{3}}, {"stride", std::int64_t{2}}});
  load("characters", {{"path", file}, {"context", std::int64_t{1}}, {"vocabulary", std::string("bytes")}});
}
const AddTarget add_characters("characters", "a text for language models, plain or gzipped", characters);

void tokens(std::string_view input) {
  const std::string file = write_file("tokens", input);
  load("tokens", {{"path", file}, {"context", std::int64_t{2}}, {"vocabulary", std::int64_t{300}}});
  load("tokens", {{"path", file}, {"context", std::int64_t{1}}, {"vocabulary", std::int64_t{1 << 24}}, {"test_share", 0.3}});
}
const AddTarget add_tokens("tokens", "a file of tokens", tokens);

void vocabulary(std::string_view input) {
  const std::string file = write_file("vocabulary", input);
  may_refuse<DataError>([&] {
    const WordList words = read_vocabulary(file);
    if (words.counts.size() != words.words.size()) throw Find("words without counts");
  });
}
const AddTarget add_vocabulary("vocabulary", "words and their counts", vocabulary);

void partition(std::string_view input) {
  static const PartitionEntry& entry = Registry<PartitionEntry>::instance().at("by_file");
  const std::string file = write_file("partition.csv", input);
  PartitionRequest request;
  request.workers = 3;
  request.samples = 12;
  may_refuse<std::invalid_argument>([&] {
    const StreamSizes sizes = entry.sizes(complete(entry.parameters, {{"path", file}}), request);
    if (sizes.sizes.size() != 3 || sizes.of(0) + sizes.of(1) + sizes.of(2) != 12) throw Find("parts that are not all samples");
  });
}
const AddTarget add_partition("partition", "the worker of each sample", partition);

}  // namespace
}  // namespace straggler::fuzz
