#include "models/data/windows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace straggler {

std::vector<Parameter> window_parameters() {
  return {{.name = "context",
           .type = ValueType::count,
           .fallback = "64",
           .meaning = "symbols of a sample; at each of them the model predicts the next one",
           .range = Range::between(1, 1e6)},
          {.name = "stride",
           .type = ValueType::count,
           .meaning = "symbols from the start of a sample to the start of the next; absent, or the word context: as many as context",
           .range = Range::between(1, 1e9),
           .choices = {"context"}},
          {.name = "test_share",
           .type = ValueType::fraction,
           .fallback = "0.1",
           .meaning = "share of the symbols, the last ones, that is held out to test on",
           .range = {0, 0.5, true, false}}};
}

WindowRule::WindowRule(const Parameters& parameters)
    : context(static_cast<std::size_t>(parameters.count("context"))),
      stride(parameters.has("stride") ? static_cast<std::size_t>(parameters.count("stride")) : context),
      test_share(parameters.number("test_share")) {}

std::size_t WindowRule::windows(std::size_t symbols) const { return symbols > context ? (symbols - 1 - context) / stride + 1 : 0; }

std::size_t WindowRule::to_train(std::size_t symbols) const {
  return static_cast<std::size_t>((1 - test_share) * static_cast<double>(symbols));
}

DataInfo describe_windows(const WindowRule& rule, std::size_t symbols, std::size_t different, const std::string& what,
                          const std::filesystem::path& path) {
  const std::size_t to_train = rule.to_train(symbols), to_test = symbols - to_train;
  DataInfo info;
  info.features = rule.context;
  info.shape = {rule.context};
  info.classes = info.symbols = different;
  info.overlap = (rule.context - 1) / rule.stride;
  info.train = rule.windows(to_train);
  info.test = rule.windows(to_test);
  info.shared_bytes = sizeof(Symbols::value_type) * symbols;
  info.origin = fmt::format("windows of {} {} of {}, which has {}", rule.context, what, path.filename().string(), symbols);
  if (info.train == 0 || info.test == 0)
    throw DataError(
        fmt::format("{}: has {} {}: {} to train on and {} to test on, and a sample takes {}, its context and the next; use a "
                    "longer text, or a context below {}",
                    path.string(), symbols, what, to_train, to_test, rule.context + 1, std::min(to_train, to_test)));
  if (symbols > most_symbols)
    throw DataError(fmt::format("{}: has {} {}, more than {}; use a part of it", path.string(), symbols, what, most_symbols));
  return info;
}

Dataset cut_windows(const WindowRule& rule, DataInfo info, Symbols text) {
  const std::size_t to_train = rule.to_train(text.size());
  const auto all = std::make_shared<const Symbols>(std::move(text));
  const auto split = [&](std::size_t first, std::size_t count) {
    std::vector<std::uint32_t> starts(count);
    for (std::size_t i = 0; i < count; ++i) starts[i] = static_cast<std::uint32_t>(first + i * rule.stride);
    return DataSplit{SampleInputs(all, std::move(starts), rule.context), {}};
  };
  Dataset data;
  data.train = split(0, info.train);
  data.test = split(to_train, info.test);
  data.info = std::move(info);
  return data;
}

}  // namespace straggler
