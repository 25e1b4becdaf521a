#include "scenarios/statistics/said.hpp"

#include <cctype>

namespace straggler {
namespace {

struct PlainWords {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const SaidPath& part) const { return part.path; }
  std::string operator()(const SaidSetting& part) const { return part.path + "=" + part.value; }
  std::string operator()(const SaidMetric& part) const { return part.name; }
  std::string operator()(const SaidName& part) const { return part.name; }
  std::string operator()(const SaidValue& part) const {
    MeanStyle style = part.style;
    style.sign = MeanStyle().sign;
    return mean_text(part.statistics, part.runs, part.text, style);
  }
};

}  // namespace

std::string capital(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string plain(const Said& said) { return said.written(PlainWords()); }

std::vector<std::string> plain(const std::vector<Said>& all) {
  std::vector<std::string> sentences;
  for (const Said& said : all) sentences.push_back(plain(said));
  return sentences;
}

Said joined(const std::vector<Said>& all, const std::string& last, const std::string& between) {
  Said out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out.add(i + 1 == all.size() ? last : between);
    out.add(all[i]);
  }
  return out;
}

}  // namespace straggler
