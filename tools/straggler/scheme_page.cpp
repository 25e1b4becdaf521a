#include "tools/straggler/scheme_page.hpp"

#include <cctype>
#include <stdexcept>
#include <string_view>

#include "sim/base/registry.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

/// The choices but for the default: ", or server".
std::string other_choices(const Parameter& parameter) {
  std::vector<std::string> all;
  for (const std::string& choice : parameter.choices)
    if (choice != *parameter.fallback) all.push_back(choice);
  return all.empty() ? std::string() : fmt::format(", or {}", fmt::join(all, ", "));
}

/// "`k` (required), `via` (all_reduce, or server)"; optional parameters have no default.
std::string parameters_text(const SchemeEntry& scheme) {
  std::vector<std::string> all;
  for (const Parameter& parameter : scheme.parameters) {
    if (parameter.name == failure_choice.parameter_name()) continue;
    std::string text = "`" + parameter.name + "`";
    if (parameter.required)
      text += " (required)";
    else if (parameter.fallback)
      text += " (" + *parameter.fallback + other_choices(parameter) + ")";
    all.push_back(std::move(text));
  }
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

/// "a server", "messages between workers", …, and the number of workers if that is fixed.
std::string needs_text(const SchemeEntry& scheme) {
  std::string text = either(variants_of(scheme), [](const SchemeVariant& variant) -> std::string {
    if (variant.one_host()) return "one host";
    switch (variant.exchange()) {
      case Exchange::server:
        return "a server";
      case Exchange::all_reduce:
        return "all-reduce";
      case Exchange::peers:
        return "messages between workers";
      case Exchange::none:
        return "nothing";
    }
    throw std::logic_error("no such exchange");
  });
  if (scheme.aggregators) text += " and aggregators";
  return scheme.only_workers ? "one worker" : text;
}

/// "After a crash (drop, or wait, abort): average without it, wait for it, or end."
std::string failure_text(const SchemeEntry& scheme) {
  for (const Parameter& parameter : scheme.parameters)
    if (parameter.name == failure_choice.parameter_name())
      return fmt::format("After a crash ({}{}): {}.", *parameter.fallback, other_choices(parameter),
                         parameter.meaning.substr(parameter.meaning.find(": ") + 2));
  return {};
}

/// With training.recovery: rollback.
std::string recovery_text(const SchemeEntry& scheme) {
  switch (scheme.rolls_back(variant_of(scheme, {}).parameters)) {
    case RollsBack::together:
      return "Any failure can roll it back.";
    case RollsBack::server:
      return "A failure of its server can roll it back.";
    case RollsBack::never:
      break;
  }
  return "It cannot be rolled back.";
}

/// "Synchronous".
std::string as_heading(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// Lines of at most 120 columns, as Markdown has paragraphs.
std::string filled(std::string_view text) {
  constexpr std::size_t most = 120;
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto width =
        static_cast<std::size_t>(std::ranges::count_if(word, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (column > 0 && column + 1 + width > most) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out + '\n';
}

void print_comparison(const std::vector<SchemeEntry>& all) {
  print_text("| scheme | who waits for whom | staleness at most | bytes per update | needs |\n| --- | --- | --- | --- | --- |\n");
  for (const std::string& family : family_choice.names())
    for (const SchemeEntry& scheme : all)
      if (family_choice.name_of(scheme.family) == family)
        print_text("| [`{0}`](#{0}) | {1} | {2} | {3} | {4} |\n", scheme.name, scheme.waits,
                   scheme.staleness.text == "none" ? "no bound" : scheme.staleness.text, scheme.traffic.text, needs_text(scheme));
}

void print_section(const SchemeEntry& scheme) {
  print_text("\n### {}\n\n", scheme.name);
  print_text("{}\n", filled(scheme.paragraph));
  print_text("    {}\n\n", scheme.rule);
  print_text("{}\n", filled(fmt::format("Parameters: {}. One batch is {}. {} {} Needs {}{}. {}.", parameters_text(scheme), scheme.batch_is,
                                        failure_text(scheme), recovery_text(scheme), needs_text(scheme),
                                        scheme.real ? "" : "; in simulation only", scheme.reference)));
  print_text("![{0}: what four workers do](images/schemes/{0}.svg)\n\n", scheme.name);
  print_text("{}", filled(fmt::format("`{}`", variant_of(scheme, scheme.picture).text())));
}

}  // namespace

void print_scheme_page() {
  const auto& all = Registry<SchemeEntry>::instance().entries();
  print_comparison(all);
  for (const std::string& family : family_choice.names()) {
    print_text("\n## {}\n", as_heading(family));
    for (const SchemeEntry& scheme : all)
      if (family_choice.name_of(scheme.family) == family) print_section(scheme);
  }
  print_text("\n");
}

void print_kind_table(KindGroup group) {
  print_text("| kind | parameter | default | meaning |\n| --- | --- | --- | --- |\n");
  for (const Word& word : Vocabulary::from_registries().words.at(group)) {
    print_text("| `{}` | | | {} |\n", word.name, word.summary);
    for (const Parameter& parameter : word.parameters) {
      const std::string absent = parameter.required ? "required" : parameter.fallback ? "`" + *parameter.fallback + "`" : "optional";
      const std::string allowed =
          parameter.choices.empty() ? parameter.range.text() : fmt::format("`{}`", fmt::join(parameter.choices, "`, `"));
      print_text("| | `{}` | {} | {}{}{} |\n", parameter.name, absent, parameter.meaning, allowed.empty() ? "" : "; ", allowed);
    }
  }
}

}  // namespace straggler::cli
