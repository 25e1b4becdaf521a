#include "models/zoo/layer_list.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_layers = 100'000;

using Form = Nested::Form;

/// Has any number of inputs, which are the value of its key.
bool joins(const LayerEntry& entry) { return entry.inputs.most > 2; }

/// What other programs call a line.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"dense", "linear"},           {"fc", "linear"},
    {"fully_connected", "linear"}, {"convolution", "conv"},
    {"maxpool", "max_pool"},       {"avg_pool", "average_pool"},
    {"avgpool", "average_pool"},   {"batchnorm", "batch_norm"},
    {"layernorm", "layer_norm"},   {"multihead_attention", "attention"},
    {"mha", "attention"},          {"swish", "silu"}};

std::string unknown_layer(const std::string& name, const std::vector<std::string>& known) {
  const auto other = std::ranges::find(other_names, name, &std::pair<std::string_view, std::string_view>::first);
  if (other == std::end(other_names)) return unknown_name("layer", name, known);
  return "unknown layer " + in_quotes(name) + "; write " + std::string(other->second);
}

/// And its keys.
constexpr std::pair<std::string_view, std::string_view> other_keys[] = {
    {"kernel", "window"},    {"kernel_size", "window"}, {"size", "window"},    {"pool_size", "window"},
    {"filters", "channels"}, {"padding", "pad"},        {"strides", "stride"}, {"num_heads", "heads"}};

std::string unknown_key(const std::string& layer, const std::string& name, const std::vector<std::string>& known) {
  const auto other = std::ranges::find(other_keys, name, &std::pair<std::string_view, std::string_view>::first);
  if (other == std::end(other_keys) || std::ranges::find(known, other->second) == known.end())
    return unknown_name("key of " + layer, name, known);
  return "unknown key of " + layer + " " + in_quotes(name) + "; did you mean " + in_quotes(std::string(other->second)) + "?";
}

class ListReader {
 public:
  explicit ListReader(const LayerListInput& input) : input_(input), build_(input.shape) {}

  Architecture read(const Nested& layers) && {
    lines(layers, network_input, "layers", "");
    Architecture made = std::move(build_).build();
    if (input_.one_output) check_read(made);
    return made;
  }

 private:
  void check_read(const Architecture& made) const {
    std::vector<bool> read(made.layers.size(), false);
    read.back() = true;
    for (const LayerSpec& layer : made.layers) {
      for (const LayerIndex input : layer.inputs)
        if (input != network_input) read[input] = true;
      if (layer.tied) read[*layer.tied] = true;
    }
    for (std::size_t l = 0; l < read.size(); ++l)
      if (!read[l])
        refuse(paths_[l], "no later line reads " + in_quotes(made.layers[l].name) + ", so it would not learn; read it by from, add or " +
                              "concat, or leave it out");
  }

  /// One line while it is read.
  struct Line {
    const Nested& whole;
    std::string kind;
    const Nested* value;  // of the key `kind`; null: the line is a word
    LayerIndex from;      // the line before
    std::string path;     // of the line
    std::string name;     // with those of the lines around it
    std::string place() const { return value ? path + "." + kind : path; }
  };

  [[noreturn]] static void refuse(const std::string& path, const std::string& what) { throw NestedError(path, what); }

  static std::string stands(const Nested& value) {
    if (value.form == Form::null) return "empty";
    return value.form == Form::word ? in_quotes(value.word) : value.form == Form::list ? "a list" : "a map";
  }

  /// Returns the last line's layer. `prefix`: of the lines' names.
  LayerIndex lines(const Nested& list, LayerIndex from, const std::string& path, const std::string& prefix) {
    if (list.form != Form::list || list.items.empty())
      refuse(path, "is " + std::string(list.form == Form::list ? "empty" : stands(list)) +
                       "; write a list of layers such as [{linear: 64}, relu]");
    for (std::size_t i = 0; i < list.items.size(); ++i)
      from = line(list.items[i], from, path + "[" + std::to_string(i) + "]", prefix, std::to_string(i));
    return from;
  }

  LayerIndex line(const Nested& whole, LayerIndex from, const std::string& path, const std::string& prefix, const std::string& number) {
    Line line{whole, "", nullptr, from, path, prefix + number};
    static const std::vector<std::string> known = [] {
      std::vector<std::string> names;
      for (const LineKind& kind : line_kinds()) names.push_back(kind.name);
      return names;
    }();
    const auto is_kind = [](const std::string& key) { return std::binary_search(known.begin(), known.end(), key); };
    if (whole.form == Form::word) {
      if (!is_kind(whole.word)) refuse(path, unknown_layer(whole.word, known));
      line.kind = whole.word;
    } else if (whole.form == Form::map) {
      for (std::size_t i = 0; i < whole.keys.size(); ++i) {
        if (!is_kind(whole.keys[i])) continue;
        if (line.value) refuse(path, "is both " + line.kind + " and " + whole.keys[i] + "; write two lines");
        line.kind = whole.keys[i];
        line.value = &whole.items[i];
      }
      if (!line.value) {
        const bool modifier = whole.keys.empty() || whole.keys[0] == "name" || whole.keys[0] == "from";
        refuse(path, modifier ? "names no layer; write one such as {linear: 64}" : unknown_layer(whole.keys[0], known));
      }
      if (const Nested* const name = whole.find("name")) {
        if (name->form != Form::word || name->word.empty()) refuse(path + ".name", "is " + stands(*name) + "; write a word");
        if (prefix.empty() && name->word == "input") refuse(path + ".name", "is the network's input; choose another name");
        line.name = prefix + name->word;
      }
    } else {
      refuse(path, "is " + stands(whole) + "; write a layer such as relu or {linear: 64}");
    }
    if (!named_.emplace(line.name, network_input).second)
      refuse(path, "the name " + in_quotes(line.name) + " is there twice; choose another");
    const LayerIndex made = made_from(line, prefix);
    named_[line.name] = made;
    return made;
  }

  LayerIndex made_from(const Line& line, const std::string& prefix) {
    if (line.kind == "repeat") return repeat(line, prefix);
    if (line.kind == "residual") return residual(line, prefix);
    if (line.kind == "global_average_pool") {
      known_keys(line, {});
      if (line.value && !without_value(*line.value)) refuse(line.place(), "has no parameters; write global_average_pool alone");
      return append(line, "average_pool", inputs(line, prefix), {});
    }
    const LayerEntry& entry = Registry<LayerEntry>::instance().at(line.kind);
    if (joins(entry)) {
      known_keys(line, {});
      if (line.whole.find("from")) refuse(line.path + ".from", "is of no use here; write " + line.kind + ": [NAME, NAME]");
      return append(line, entry.name, names(line.value, line.place(), prefix), {});
    }
    const std::vector<LayerIndex> from = inputs(line, prefix);
    check_input(line, entry, from);  // before its parameters, of which vocabulary may be one
    Parameters given = parameters(line, entry);
    std::optional<LayerIndex> tied;
    if (given.has("tied")) tied = tied_to(given.text("tied"), line.path + ".tied", prefix);
    return append(line, entry.name, from, std::move(given), tied);
  }

  LayerIndex tied_to(const std::string& name, const std::string& path, const std::string& prefix) const {
    const LayerIndex owner = named(Nested::of_word(name), path, prefix);
    if (owner == network_input) refuse(path, "is the network's input, which has no weight; name an embedding or a linear layer");
    return owner;
  }

  LayerIndex append(const Line& line, const std::string& kind, const std::vector<LayerIndex>& from, Parameters given,
                    std::optional<LayerIndex> tied = {}) {
    if (++layers_ > most_layers)
      refuse(line.path, "is layer " + std::to_string(layers_) + "; a network has at most " + std::to_string(most_layers));
    check_input(line, Registry<LayerEntry>::instance().at(kind), from);
    try {
      paths_.push_back(line.path);
      return build_.layer(kind, from, std::move(given), line.name, tied);
    } catch (const std::invalid_argument& wrong) {
      refuse(line.path, wrong.what());
    }
  }

  /// Symbols go into an embedding, and nothing else does.
  void check_input(const Line& line, const LayerEntry& entry, const std::vector<LayerIndex>& from) const {
    const bool reads = std::find(from.begin(), from.end(), network_input) != from.end();
    if (!reads || !input_.symbols || *input_.symbols == entry.tokens) return;
    if (*input_.symbols)
      refuse(line.path, entry.name + " reads measures, and these data are symbols of a vocabulary of " +
                            std::to_string(input_.counts.at("vocabulary")) + "; begin with {embedding: WIDTH, rows: vocabulary}");
    refuse(line.path, entry.name + " reads symbols, and these data are measures, " + shape_text(input_.shape) +
                          "; use data characters or tokens, or begin with another layer");
  }

  LayerIndex repeat(const Line& line, const std::string& prefix) {
    known_keys(line, {});
    const std::string path = line.place();
    const Nested* const times = line.value && line.value->form == Form::map ? line.value->find("times") : nullptr;
    const Nested* const inside = times ? line.value->find("layers") : nullptr;
    if (!inside || line.value->keys.size() != 2) refuse(path, "must have two keys; write repeat: {times: 4, layers: [...]}");
    const std::int64_t count = std::get<std::int64_t>(
        value({.name = "times", .type = ValueType::count, .range = Range::between(1, most_layers)}, *times, path + ".times"));
    LayerIndex from = only_input(line, prefix);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string each = line.name + "." + std::to_string(i);
      const InBlock block(*this, each);
      from = lines(*inside, from, path + ".layers", each + ".");
    }
    return from;
  }

  LayerIndex residual(const Line& line, const std::string& prefix) {
    known_keys(line, {"skip"});
    const LayerIndex from = only_input(line, prefix);
    const InBlock block(*this, line.name);
    static const Nested none;
    const LayerIndex inside = lines(line.value ? *line.value : none, from, line.place(), line.name + ".");
    LayerIndex skipped = from;
    if (const Nested* const skip = line.whole.find("skip")) {
      const std::string path = line.path + ".skip";
      skipped = skip->form == Form::list ? lines(*skip, from, path, line.name + ".skip.")
                                         : this->line(*skip, from, path, line.name + ".", "skip");
    } else if (build_.shape(inside) != build_.shape(from)) {
      refuse(line.path, line.name + ": turns " + shape_text(build_.shape(from)) + " into " + shape_text(build_.shape(inside)) +
                            ", which cannot be added to it; give a skip: {conv: …} that makes the same shape");
    }
    return append(line, "add", {inside, skipped}, {});
  }

  /// What is read meanwhile is part of this block, or of the one around it.
  class InBlock {
   public:
    InBlock(ListReader& reader, const std::string& name) : reader_(reader), outermost_(!reader.in_block_) {
      if (outermost_) reader_.build_.within(name);
      reader_.in_block_ = true;
    }
    ~InBlock() {
      if (!outermost_) return;
      reader_.build_.within({});
      reader_.in_block_ = false;
    }
    InBlock(const InBlock&) = delete;
    InBlock& operator=(const InBlock&) = delete;

   private:
    ListReader& reader_;
    bool outermost_;
  };

  /// Null, {} or true: a layer without parameters that stands as a key.
  static bool without_value(const Nested& value) {
    return value.form == Form::null || (value.form == Form::map && value.keys.empty()) ||
           (value.form == Form::word && value.word == "true");
  }

  /// Besides the layer itself, `name` and `from`.
  static void known_keys(const Line& line, std::vector<std::string> known) {
    known.insert(known.end(), {"from", "name"});
    for (const std::string& key : line.whole.keys)
      if (key != line.kind && std::find(known.begin(), known.end(), key) == known.end())
        refuse(line.path + "." + key, unknown_key(line.kind, key, known));
  }

  /// The layers named in `from`, or the line before.
  std::vector<LayerIndex> inputs(const Line& line, const std::string& prefix) const {
    const Nested* const from = line.whole.find("from");
    return from ? names(from, line.path + ".from", prefix) : std::vector<LayerIndex>{line.from};
  }

  LayerIndex only_input(const Line& line, const std::string& prefix) const {
    const std::vector<LayerIndex> all = inputs(line, prefix);
    if (all.size() != 1) refuse(line.path + ".from", "has " + std::to_string(all.size()) + " names; write one");
    return all.front();
  }

  std::vector<LayerIndex> names(const Nested* given, const std::string& path, const std::string& prefix) const {
    if (!given || given->form == Form::null || given->form == Form::map || (given->form == Form::list && given->items.empty()))
      refuse(path, "names no layers; write [NAME, NAME]");
    if (given->form == Form::word) return {named(*given, path, prefix)};
    std::vector<LayerIndex> found;
    for (std::size_t i = 0; i < given->items.size(); ++i)
      found.push_back(named(given->items[i], path + "[" + std::to_string(i) + "]", prefix));
    return found;
  }

  /// The nearest of that name: in the same list, else in one around it. `input`: the network's.
  LayerIndex named(const Nested& given, const std::string& path, std::string prefix) const {
    if (given.form != Form::word) refuse(path, "is " + stands(given) + "; write the name of a layer");
    while (true) {
      if (const auto at = named_.find(prefix + given.word); at != named_.end()) {
        if (at->second == network_input) refuse(path, in_quotes(given.word) + " is this line or one around it; name an earlier one");
        return at->second;
      }
      if (prefix.empty()) break;
      prefix.pop_back();
      prefix.erase(prefix.rfind('.') == std::string::npos ? 0 : prefix.rfind('.') + 1);
    }
    if (given.word == "input") return network_input;
    std::vector<std::string> known = {"input"};
    for (const auto& [name, layer] : named_) known.push_back(name);
    refuse(path, unknown_name("layer", given.word, known));
  }

  Parameters parameters(const Line& line, const LayerEntry& entry) const {
    Parameters given;
    std::vector<std::string> known;
    for (const Parameter& parameter : entry.parameters) known.push_back(parameter.name);
    const bool map = line.value && line.value->form == Form::map;
    const auto take = [&](const std::string& name, const Nested& from, const std::string& path) {
      const auto its = std::find(known.begin(), known.end(), name);
      if (its == known.end()) refuse(path, unknown_name("parameter of " + line.kind, name, known));
      given.set(name, value(entry.parameters[static_cast<std::size_t>(its - known.begin())], from, path));
    };
    if (map) {
      for (std::size_t i = 0; i < line.value->keys.size(); ++i)
        take(line.value->keys[i], line.value->items[i], line.place() + "." + line.value->keys[i]);
    } else if (line.value && !known.empty()) {
      if (line.value->form != Form::null) take(known.front(), *line.value, line.place());
    } else if (line.value && !without_value(*line.value)) {
      refuse(line.place(), "has no parameters; write " + line.kind + " alone, or {" + line.kind + ": {}, name: NAME}");
    }
    known_keys(line, known);
    for (std::size_t i = 0; i < line.whole.keys.size(); ++i) {
      const std::string& key = line.whole.keys[i];
      if (key == line.kind || key == "name" || key == "from") continue;
      if (given.has(key)) refuse(line.path + "." + key, "is there twice; keep one");
      take(key, line.whole.items[i], line.path + "." + key);
    }
    return given;
  }

  Value value(const Parameter& parameter, const Nested& given, const std::string& path) const {
    const auto number_of = [&](const Nested& one) {
      const auto count = one.form == Form::word && !one.quoted ? input_.counts.find(one.word) : input_.counts.end();
      return count == input_.counts.end() ? one.word : std::to_string(count->second);
    };
    const bool bare = parameter.type == ValueType::count || parameter.type == ValueType::number || parameter.type == ValueType::boolean ||
                      parameter.type == ValueType::counts;
    if (given.form == Form::word && given.quoted && bare)
      refuse(path, "is text in quotes; write " + std::string(name_of(parameter.type)) + " without quotes");
    std::string text;
    if (given.form == Form::list && parameter.type == ValueType::counts) {
      for (const Nested& item : given.items) {
        if (item.form != Form::word) refuse(path, "has " + stands(item) + " in it; write whole numbers");
        text += (text.empty() ? "" : ", ") + number_of(item);
      }
      text = "[" + text + "]";
    } else if (given.form == Form::word) {
      text = parameter.type == ValueType::counts  ? "[" + number_of(given) + "]"
             : parameter.type == ValueType::count ? number_of(given)
                                                  : given.word;
    } else {
      refuse(path, "is " + stands(given) + "; write " + std::string(name_of(parameter.type)));
    }
    try {
      return parse_value(parameter, text);
    } catch (const std::invalid_argument& wrong) {
      std::string or_word;
      for (const auto& [word, count] : input_.counts) or_word += (or_word.empty() ? ", or " : ", ") + word;
      const bool word =
          given.form == Form::word && !given.word.empty() && std::isalpha(static_cast<unsigned char>(given.word.front())) != 0;
      refuse(path, wrong.what() + (word && parameter.type == ValueType::count ? or_word : std::string()));
    }
  }

  const LayerListInput& input_;
  ArchitectureBuilder build_;
  std::map<std::string, LayerIndex> named_;  // of all lines so far; network_input: not finished
  std::vector<std::string> paths_;           // of the layers' lines
  std::size_t layers_ = 0;
  bool in_block_ = false;
};

/// What stands before the names that the layer's row gives its tensors.
std::string prefix_of(const LayerSpec& layer) {
  const std::string& whole = layer.tensors.back().name;
  return whole.substr(0, whole.size() - layer.entry->tensors(layer).back().name.size() - 1);
}

/// A number for both sides as one.
Nested written(const Parameter& parameter, const Value& value) {
  if (parameter.type != ValueType::counts) return Nested::of_word(format_value(parameter.type, value));
  const std::vector<std::int64_t>& numbers = std::get<std::vector<std::int64_t>>(value);
  if (std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end())
    return Nested::of_word(std::to_string(numbers.front()));
  std::vector<Nested> items;
  for (const std::int64_t number : numbers) items.push_back(Nested::of_word(std::to_string(number)));
  return Nested::of_list(std::move(items));
}

/// Whether a line need not write it.
bool by_default(const LayerSpec& layer, const Parameter& parameter, const Value& value) {
  if (parameter.fallback) return written(parameter, value) == written(parameter, parse_value(parameter, *parameter.fallback));
  return parameter.name == "stride" && layer.window.height == layer.window.width && layer.window.stride == layer.window.height &&
         layer.parameters.has("window");
}

class ListWriter {
 public:
  explicit ListWriter(const Architecture& architecture) : layers_(architecture.layers), names_(layers_.size()) {
    std::vector<bool> named(layers_.size(), false);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const std::vector<LayerIndex>& inputs = layers_[l].inputs;
      for (const LayerIndex input : inputs)
        if (input != network_input && (inputs.size() > 1 || input + 1 != l)) named[input] = true;
      if (layers_[l].tied) named[*layers_[l].tied] = true;
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].tensors.empty())
        names_[l] = prefix_of(layers_[l]);
      else if (layers_[l].entry->multiply_adds)
        names_[l] = layers_[l].name;  // which costs have
    }
    for (std::size_t l = 0; l < layers_.size(); ++l)
      if (named[l] && names_[l].empty()) names_[l] = free_name(layers_[l].name);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const std::string number = std::to_string(l);
      if (names_[l] == number)
        names_[l].clear();
      else if (names_[l].empty() && std::find(names_.begin(), names_.end(), number) != names_.end())
        names_[l] = free_name(layers_[l].name);  // a later line has its number for a name
    }
  }

  Nested list() const {
    Nested all = Nested::of_list({});
    for (std::size_t l = 0; l < layers_.size(); ++l) all.items.push_back(line(l));
    return all;
  }

 private:
  std::string free_name(const std::string& wished) const {
    std::string name = wished;
    for (std::size_t i = 2; std::find(names_.begin(), names_.end(), name) != names_.end(); ++i) name = wished + std::to_string(i);
    return name;
  }

  Nested name_of(LayerIndex layer) const {
    if (layer == network_input) return Nested::of_word("input");
    return Nested::of_word(names_[layer].empty() ? std::to_string(layer) : names_[layer]);
  }

  Nested names_of(const std::vector<LayerIndex>& layers) const {
    std::vector<Nested> names;
    for (const LayerIndex each : layers) names.push_back(name_of(each));
    return Nested::of_list(std::move(names));
  }

  Nested line(LayerIndex l) const {
    const LayerSpec& layer = layers_[l];
    Nested line;
    const std::vector<Parameter>& declared = layer.entry->parameters;
    for (const Parameter& parameter : declared) {
      if (!layer.parameters.has(parameter.name)) continue;
      const Value& value = layer.parameters.all().at(parameter.name);
      const bool main = &parameter == &declared.front();
      if (parameter.name == "tied")
        line.add(parameter.name, name_of(*layer.tied));
      else if (main || !by_default(layer, parameter, value))
        line.add(main ? layer.entry->name : parameter.name, written(parameter, value));
    }
    if (joins(*layer.entry)) line.add(layer.entry->name, names_of(layer.inputs));
    const bool bare = line.keys.empty();
    const bool follows = joins(*layer.entry) || (layer.inputs.size() == 1 && layer.inputs[0] == (l == 0 ? network_input : l - 1));
    if (bare && follows && names_[l].empty()) return Nested::of_word(word(layer));
    if (bare || !line.find(layer.entry->name)) {
      Nested first;
      first.add(word(layer), Nested{Form::map, {}, false, {}, {}});
      for (std::size_t i = 0; i < line.keys.size(); ++i) first.add(line.keys[i], line.items[i]);
      line = std::move(first);
    }
    if (!names_[l].empty()) line.add("name", Nested::of_word(names_[l]));
    if (!follows) line.add("from", layer.inputs.size() == 1 ? name_of(layer.inputs[0]) : names_of(layer.inputs));
    return line;
  }

  static std::string word(const LayerSpec& layer) {
    const bool global = layer.is("average_pool") && layer.window == Window{layer.in.height, layer.in.width, 1, 0, 0};
    return global && !layer.parameters.has("window") && !layer.parameters.has("stride") ? "global_average_pool" : layer.entry->name;
  }

  const std::vector<LayerSpec>& layers_;
  std::vector<std::string> names_;  // empty: the line's number
};

}  // namespace

std::vector<LineKind> line_kinds() {
  using Value = LineKind::Value;
  const auto lines = [](const char* name, bool required, const char* meaning) {
    return Parameter{.name = name, .type = ValueType::nested, .required = required, .meaning = meaning};
  };
  const Parameter times{.name = "times",
                        .type = ValueType::count,
                        .required = true,
                        .meaning = "how often they stand there",
                        .range = Range::between(1, most_layers)};
  std::vector<LineKind> kinds = {{"global_average_pool", "the mean of all places of a channel", {}, Value::parameters},
                                 {"repeat", "lines, several times", {times, lines("layers", true, "the lines")}, Value::map},
                                 {"residual",
                                  "what lines make, plus their input",
                                  {lines("skip", false, "lines that the input passes before the sum")},
                                  Value::lines}};
  for (const LayerEntry& entry : Registry<LayerEntry>::instance().entries())
    kinds.push_back({entry.name, entry.summary, entry.parameters, joins(entry) ? Value::names : Value::parameters});
  std::ranges::sort(kinds, {}, &LineKind::name);
  return kinds;
}

Architecture architecture_of(const Nested& layers, const LayerListInput& input) { return ListReader(input).read(layers); }

Nested layer_list(const Architecture& architecture) { return ListWriter(architecture).list(); }

}  // namespace straggler
