#include "scenarios/schema/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "scenarios/schema/yaml_layout.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

const YamlNode* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].name == key) return &items[i];
  return nullptr;
}

namespace {

/// Ends reading; the problem has been added.
struct Stop {};

std::size_t count_nodes(const YamlNode& node) {
  std::size_t sum = 1;
  for (const YamlNode& item : node.items) sum += count_nodes(item);
  return sum;
}

std::size_t depth_of(const YamlNode& node) {
  std::size_t deepest = 0;
  for (const YamlNode& item : node.items) deepest = std::max(deepest, depth_of(item));
  return deepest + 1;
}

/// Builds the tree from yaml-cpp's events; depth is bounded, so the recursions over it are.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(int source, Problems& problems) : source_(source), problems_(problems) {}
  std::optional<YamlNode> root;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) stop(mark, "there is more than one YAML document; keep one, without another '---'");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, YamlNode::Type::null, {}, false); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    refuse_tag(mark, tag);
    if (tag == "!") last_quote_ = place(mark);
    leaf(mark, anchor, YamlNode::Type::scalar, value, tag == "!");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) stop(mark, "an alias stands inside the value that it stands for; write the value out");
    charge(mark, count_nodes(at->second));
    if (open_.size() + depth_of(at->second) > YamlLimits::depth) refuse_depth(mark);
    YamlNode copy = at->second;
    put(mark, std::move(copy), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Type::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Type::map);
  }
  void OnMapEnd() override { close(); }

  /// Where the last text in quotes begins.
  std::optional<Place> last_quote() const { return last_quote_; }
  Place place(const YAML::Mark& mark) const {
    return mark.is_null() ? Place{source_, 1, 1} : Place{source_, mark.line + 1, mark.column + 1};
  }

 private:
  struct Open {
    YamlNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::unordered_map<std::string, int> lines;  // map: where each key stands
    bool has_key = false, drop_value = false;    // map: a key waits for its value, which is to be ignored
  };

  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) {
    problems_.add(place(mark), "syntax", what);
    throw Stop{};
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) {
    stop(mark, "values are nested more than " + std::to_string(YamlLimits::depth) + " deep; a scenario needs fewer than ten levels");
  }
  void charge(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > YamlLimits::nodes)
      stop(mark, "there are more than " + std::to_string(YamlLimits::nodes) + " values once aliases are expanded; write fewer");
  }
  /// The path of a key of the map that is open now.
  std::string path_of(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const YamlNode& node = open_[i].node;
      if (node.type == YamlNode::Type::sequence)
        path += "[" + std::to_string(node.items.size()) + "]";
      else if (!node.keys.empty())
        path += (path.empty() ? "" : ".") + node.keys.back().name.substr(0, 60);
    }
    return path + (path.empty() ? "" : ".") + key.substr(0, 60);
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!")
      problems_.add(place(mark), "syntax", "the tag " + in_quotes(tag) + " is not supported; remove it");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Type type) {
    refuse_tag(mark, tag);
    charge(mark, 1);
    if (open_.size() >= YamlLimits::depth) refuse_depth(mark);
    Open opened;
    opened.node.type = type;
    opened.node.place = place(mark);
    opened.mark = mark;
    opened.anchor = anchor;
    open_.push_back(std::move(opened));
  }
  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    put(closed.mark, std::move(closed.node), closed.anchor);
  }
  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Type type, const std::string& text, bool is_quoted) {
    charge(mark, 1);
    YamlNode node;
    node.type = type;
    node.place = place(mark);
    node.text = text;
    node.quoted = is_quoted;
    put(mark, std::move(node), anchor);
  }

  void put(const YAML::Mark& mark, YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      charge(mark, count_nodes(node));  // the copy kept for its aliases
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root = std::move(node);
    } else if (open_.back().node.type == YamlNode::Type::sequence) {
      open_.back().node.items.push_back(std::move(node));
    } else if (!open_.back().has_key) {
      take_key(mark, node);
    } else {
      Open& map = open_.back();
      map.has_key = false;
      // What is left out is noticed only where the next token begins.
      if (node.type == YamlNode::Type::null && !map.drop_value && node.place.line != map.node.keys.back().place.line)
        node.place = map.node.keys.back().place;
      if (!map.drop_value) map.node.items.push_back(std::move(node));
    }
  }

  void take_key(const YAML::Mark& mark, const YamlNode& node) {
    Open& map = open_.back();
    map.has_key = true;
    map.drop_value = true;
    const Place at = place(mark);
    if (node.type != YamlNode::Type::scalar || node.text.empty()) {
      problems_.add(at, "syntax",
                    "a key is " + std::string(node.items.empty() ? "empty" : "not a word") + "; write a word before the colon");
    } else if (node.text == "<<" && !node.quoted) {
      problems_.add(at, "syntax", "merge keys ('<<') are not supported; write the keys out, or use an alias for a whole value");
    } else if (const auto [first, added] = map.lines.emplace(node.text, at.line); !added) {
      problems_.add(at, path_of(node.text),
                    "duplicate key " + in_quotes(node.text) + ", first on line " + std::to_string(first->second) + "; keep one");
    } else {
      map.drop_value = false;
      map.node.keys.push_back({node.text, at});
    }
  }

  int source_;
  Problems& problems_;
  bool started_ = false;
  std::optional<Place> last_quote_;
  std::size_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
};

std::string remedy(const std::string& message) {
  if (message.find("tab") != std::string::npos) return "indent with spaces";
  if (message.find("not found") != std::string::npos || message.find("EOF") != std::string::npos)
    return "close what is open: a bracket, a quote or an indented block (is the file cut off?)";
  if (message.find("anchor") != std::string::npos || message.find("alias") != std::string::npos)
    return "define an anchor (&name) before its aliases (*name)";
  return "check the colons, brackets, quotes and indentation here";
}

/// Where more brackets are open than any nesting that is read needs, quotes and comments not considered; nothing if that is nowhere. The
/// parser keeps hundreds of bytes for each open bracket before the builder hears of the first.
std::optional<Place> place_of_open_brackets(std::string_view text, int source) {
  constexpr std::size_t most = 10 * YamlLimits::depth;
  std::size_t open = 0;
  Place place{source, 1, 0};
  for (const char c : text) {
    ++place.column;
    if (c == '\n') {
      ++place.line;
      place.column = 0;
    }
    if ((c == '[' || c == '{') && ++open > most) return place;
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return std::nullopt;
}

/// The parser takes the end of the text for the end of a quote.
bool ends_in_quote(std::string_view text, const TreeBuilder& builder, Problems& problems) {
  if (!builder.last_quote()) return false;
  const std::optional<LayoutFault> fault = unclosed_quote(layout_of(text, builder.last_quote()->source));
  if (!fault || fault->place != *builder.last_quote()) return false;
  problems.add(fault->place, "syntax", fault->what);
  return true;
}

}  // namespace

std::optional<YamlNode> parse_yaml(std::string_view text, int source, Problems& problems) {
  if (const std::optional<Place> place = place_of_open_brackets(text, source)) {
    problems.add(*place, "syntax",
                 "values are nested more than " + std::to_string(YamlLimits::depth) + " deep; a scenario needs fewer than ten levels");
    return std::nullopt;
  }
  TreeBuilder builder(source, problems);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder) || !builder.root) {
      source == 0 ? problems.add(whole_file, {}, "there is nothing in it; write a scenario that begins with 'straggler: 1'")
                  : problems.add(Place{source, 1, 1}, {}, "there is no value in it; write one after '='");
      return std::nullopt;
    }
    std::optional<YamlNode> root = std::exchange(builder.root, std::nullopt);
    parser.HandleNextDocument(builder);
    if (ends_in_quote(text, builder, problems)) return std::nullopt;
    return root;
  } catch (const Stop&) {
  } catch (const YAML::Exception& error) {
    const Place place = builder.place(error.mark);
    const std::optional<LayoutFault> fault = layout_fault(text, place);
    problems.add(fault ? fault->place : place, "syntax", fault ? fault->what : error.msg + "; " + remedy(error.msg));
  }
  return std::nullopt;
}

}  // namespace straggler
