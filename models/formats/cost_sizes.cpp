// The cost of a model of which the sizes of layers are known, or not even those.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/formats/reading.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::formats::cost_sizes {
namespace {

constexpr std::uintmax_t largest_list = 64 << 20;
constexpr double most_flops = 1e18;
constexpr std::size_t most_layers = 100'000;

std::vector<Parameter> columns() {
  return {{.name = "name", .type = ValueType::text, .meaning = "of the layer; default: its place"},
          {.name = "parameters",
           .type = ValueType::amount,
           .required = true,
           .meaning = "of the layer",
           .range = Range::between(0, static_cast<double>(most_model_parameters))},
          {.name = "flops",
           .type = ValueType::amount,
           .meaning = "forward, of one sample; a multiply-add is 2; default: 2 per parameter",
           .range = Range::between(0, most_flops)},
          {.name = "activations",
           .type = ValueType::amount,
           .meaning = "numbers of outputs that backward reads, of one sample",
           .range = Range::between(0, most_flops)},
          {.name = "operations",
           .type = ValueType::amount,
           .meaning = "that a framework issues one by one; default: 1",
           .range = Range::between(0, 1e6)},
          {.name = "convolution",
           .type = ValueType::amount,
           .meaning = "1: of devices that tell them apart it has the efficiency of convolutions, not of dense layers; default: 0",
           .range = Range::between(0, 1)}};
}

/// Rows of CSV. `place`: for errors; empty: they were checked where they stand in the scenario.
class List {
 public:
  explicit List(std::filesystem::path place) : place_(std::move(place)), columns_(columns()) {}

  CostTable read(std::string_view csv) && {
    TextLines lines(csv);
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      if (trimmed(line).empty() || (columns_of_.empty() && trimmed(line).starts_with('#'))) continue;
      if (!splitter_.split(line)) refuse("has a quote that is not closed, or text behind one; end it before the separator");
      if (columns_of_.empty())
        head();
      else
        row();
    }
    if (count_ == 0) refuse("has no layers; write a line of names and a line for each layer, such as conv1,9408,236M");
    CostTable table = std::move(rows_).table(place_, "layers");
    table.knows_activations = knows_activations_;
    for (std::size_t i = 0; i < table.layers.size(); ++i) table.layers[i].convolution = convolutions_[i];
    if (assumed_flops_ > 0)
      table.notes.push_back(fmt::format("sizes: assumed: FLOPs forward are 2 per parameter in {} layer{} without flops", assumed_flops_,
                                        assumed_flops_ == 1 ? "" : "s"));
    return table;
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    refuse_model(place_, fmt::format("line {}: {}", line_, sentence), "layers");
  }

  void head() {
    std::vector<std::string> known;
    for (const Parameter& column : columns_) known.push_back(column.name);
    for (const CsvField& field : splitter_.fields()) {
      const auto found = std::find(known.begin(), known.end(), field.text);
      if (found == known.end()) refuse(unknown_name("column", field.text, known));
      columns_of_.push_back(static_cast<std::size_t>(found - known.begin()));
      for (std::size_t i = 0; i + 1 < columns_of_.size(); ++i)
        if (columns_of_[i] == columns_of_.back()) refuse(fmt::format("names the column {} twice; name it once", *found));
    }
    if (std::find(columns_of_.begin(), columns_of_.end(), 1U) == columns_of_.end())
      refuse("names no column parameters; begin with a line such as name,parameters,flops");
  }

  std::optional<double> number(const Parameter& column, std::string_view text) const {
    if (text.empty()) return std::nullopt;
    try {
      return std::get<double>(parse_value(column, text));
    } catch (const std::invalid_argument& error) {
      refuse(fmt::format("{}: {}", column.name, error.what()));
    }
  }

  void row() {
    if (splitter_.fields().size() != columns_of_.size())
      refuse(fmt::format("has {} fields, but the line of names has {}; write as many", splitter_.fields().size(), columns_of_.size()));
    if (++count_ > most_layers) refuse(fmt::format("is of layer {}; at most {} can be read", count_, most_layers));
    std::string name = fmt::format("layer {}", count_);
    std::optional<double> parameters, flops, activations, operations, convolution;
    for (std::size_t i = 0; i < columns_of_.size(); ++i) {
      const std::string_view text = splitter_.fields()[i].text;
      const Parameter& column = columns_[columns_of_[i]];
      if (column.type == ValueType::text) {
        if (!text.empty()) name = shown_text(shortened(text, 200));
      } else {
        std::optional<double>& figure = column.name == "parameters"    ? parameters
                                        : column.name == "flops"       ? flops
                                        : column.name == "activations" ? activations
                                        : column.name == "operations"  ? operations
                                                                       : convolution;
        figure = number(column, text);
      }
    }
    if (!parameters) refuse("has no parameters; write a whole number such as 9408, or 0");
    if (!flops) ++assumed_flops_;
    knows_activations_ = knows_activations_ && activations.has_value();
    convolutions_.push_back(convolution.value_or(0) == 1);
    std::vector<LayerRows::Tensor> tensors;
    if (*parameters > 0) tensors.push_back({name, {static_cast<std::size_t>(*parameters)}});
    rows_.add(std::move(name), std::move(tensors), flops.value_or(2 * *parameters) / 2, activations.value_or(0),
              static_cast<std::size_t>(operations.value_or(1)));
  }

  std::filesystem::path place_;
  std::vector<Parameter> columns_;
  std::vector<std::size_t> columns_of_;  // of the fields of a line: indices of columns_
  CsvSplitter splitter_;
  LayerRows rows_;
  std::vector<bool> convolutions_;  // [rows]
  std::size_t line_ = 0, count_ = 0, assumed_flops_ = 0;
  bool knows_activations_ = true;
};

CostTable checked(CostTable table, const std::string& remedy) {
  if (table.parameters() == 0) throw std::invalid_argument("has no parameters, so there is nothing to send; " + remedy);
  return table;
}

const Register<ModelEntry> sizes({
    .name = "sizes",
    .summary = "layers of which only the sizes are known: a list, or a CSV file with the same columns",
    .reference = "the sizes are the user's",
    .cost_parameters =
        {{.name = "layers",
          .type = ValueType::rows,
          .required = true,
          .meaning = "layers in forward order: `name`, `parameters`, `flops` (forward, of one sample; a multiply-add is 2; default: "
                     "2 per parameter), `activations` (numbers that backward reads), `operations` (that a framework issues; default: 1), "
                     "`convolution` (1: it is one)",
          .columns = columns()},
         {.name = "input_bytes", .type = ValueType::bytes, .fallback = "0B", .meaning = "of a sample, which are copied to the device"}},
    .cost_table =
        [](const Parameters& parameters) {
          const std::string& layers = parameters.text("layers");
          const std::string remedy = "give a layer some";
          CostTable table =
              is_csv_text(layers) ? List("the list of layers").read(layers) : List(layers).read(model_text(layers, largest_list, "layers"));
          table.input_bytes = parameters.number("input_bytes");
          return checked(std::move(table), remedy);
        },
});

const Register<ModelEntry> even({
    .name = "even",
    .summary = "equal layers, where only totals are known",
    .reference = "the totals are the user's",
    .cost_parameters = {{.name = "parameters",
                         .type = ValueType::amount,
                         .required = true,
                         .meaning = "of all layers, such as 350M",
                         .range = Range::between(1, static_cast<double>(most_model_parameters))},
                        {.name = "layers",
                         .type = ValueType::count,
                         .required = true,
                         .meaning = "number of layers",
                         .range = Range::between(1, static_cast<double>(most_layers))},
                        {.name = "flops",
                         .type = ValueType::amount,
                         .meaning = "of all layers forward, of one sample, such as 90G; a multiply-add is 2; default: 2 per parameter",
                         .range = Range::between(0, most_flops)}},
    .cost_table =
        [](const Parameters& given) {
          const auto parameters = static_cast<std::size_t>(given.number("parameters"));
          const auto layers = static_cast<std::size_t>(given.count("layers"));
          const bool has_flops = given.has("flops");
          const double flops = has_flops ? given.number("flops") : 2 * static_cast<double>(parameters);
          LayerRows rows;
          for (std::size_t i = 0; i < layers; ++i) {
            // The first `parameters % layers` layers have one more.
            const std::size_t size = parameters / layers + (i < parameters % layers ? 1 : 0);
            const std::string name = fmt::format("layer {}", i + 1);
            std::vector<LayerRows::Tensor> tensors;
            if (size > 0) tensors.push_back({name, {size}});
            rows.add(name, std::move(tensors), flops / (2 * static_cast<double>(layers)), 0, 1);
          }
          CostTable table = std::move(rows).table("even");
          table.knows_activations = false;
          if (!has_flops) table.notes.emplace_back("even: assumed: FLOPs forward are 2 per parameter");
          return table;
        },
});

}  // namespace
}  // namespace straggler::formats::cost_sizes
