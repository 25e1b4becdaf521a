#include "scenarios/report/page.hpp"

#include <fmt/format.h>

#include <string>

#include "scenarios/report/picture.hpp"
#include "sim/base/xml_text.hpp"
#include "sim/record/phase.hpp"

namespace straggler {
namespace {

constexpr std::string_view policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'none'; base-uri 'none'; "
    "form-action 'none'";

constexpr std::string_view script_begins = "<script>\n", script_ends = "</script>\n";

void add_script(std::string& out, std::string_view text) {
  out += script_begins;
  out += text;
  out += script_ends;
}

}  // namespace

std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

/// Below the page, folded, so that they travel with the page.
static void add_licences(std::string& out) {
  out += "<footer><details class=\"licences\"><summary>Charts by Apache ECharts: licences</summary>\n<pre>";
  out += xml_text(resources::echarts_licences());
  out += "</pre></details></footer>\n";
}

/// Rows of phases, for timeline.js.
static std::string phases_script() {
  std::string rows;
  for (const PhaseRow& row : phase_rows)
    rows += fmt::format("{}{{title: '{}', shape: '{}'}}", rows.empty() ? "" : ", ", row.title, row.shape);
  return fmt::format("window.straggler = {{phases: [{}]}};\n", rows);
}

/// A grey phase has its colours in page.css.
static std::string phases_style() {
  std::string colours, classes;
  for (const PhaseRow& row : phase_rows) {
    if (row.colour != std::string_view("grey")) colours += fmt::format("--{}:var(--{});", row.title, row.colour);
    classes += fmt::format("svg .{0}{{color:var(--{0})}}", row.title);
  }
  return fmt::format("\n:root{{{}}}{}", colours, classes);
}

std::vector<std::string_view> page_scripts(bool charts) {
  static const std::string phases = phases_script();
  if (!charts) return {resources::format_script(), resources::table_script(), resources::page_script()};
  return {phases,
          resources::format_script(),
          resources::axes_script(),
          resources::table_script(),
          resources::chart_script(),
          resources::kinds_script(),
          resources::cells_script(),
          resources::arranged_script(),
          resources::notes_script(),
          resources::lines_script(),
          resources::timeline_script(),
          resources::selection_script(),
          resources::page_script()};
}

std::string_view page_style() {
  static const std::string style = std::string(resources::page_style()) + phases_style();
  return style;
}

/// Adds the scripts of a page. `before` has space for more.
static void add_scripts(PageParts& page, bool charts) {
  const std::vector<std::string_view> scripts = page_scripts(charts);
  std::size_t bytes = 4096 + (charts ? 2 * resources::echarts_licences().size() : 0);  // at most
  for (const std::string_view each : scripts) bytes += each.size() + script_begins.size() + script_ends.size();
  page.after.reserve(bytes);
  if (charts) {
    page.before += script_begins;
    page.echarts = resources::echarts();
    page.after += script_ends;
    add_licences(page.after);
  }
  for (const std::string_view each : scripts) add_script(page.after, each);
}

std::string PageParts::text() const {
  std::string all;
  all.reserve(before.size() + echarts.size() + after.size());
  all += before;
  all += echarts;
  return all += after;
}

bool charts_move() { return !resources::echarts().empty(); }

PageParts page_parts(std::string_view title, std::string_view body) {
  const bool charts = body.find("<script type=\"application/json\">") != std::string_view::npos;
  PageParts page;
  page.before.reserve(body.size() + page_style().size() + (std::size_t{64} << 10));
  page.before += fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<title>{}</title>\n<style>\n{}",
      policy, xml_text(title), picture_style());
  page.before += page_style();
  page.before += "\n</style>\n</head>\n<body>\n<main>\n";
  page.before += body;
  if (charts && !charts_move())
    page.before += html_paragraph(
        "The charts of this page are still pictures: the program was built without npm, which provides the interactive ones.", "dim");
  page.before += "</main>\n";
  add_scripts(page, charts && charts_move());
  page.after += "</body>\n</html>\n";
  return page;
}

std::string html_page(std::string_view title, std::string_view body) { return page_parts(title, body).text(); }

std::string html_paragraph(std::string_view text, std::string_view classes) {
  return fmt::format("<p{}>{}</p>\n", classes.empty() ? std::string() : fmt::format(" class=\"{}\"", classes), xml_text(text));
}

std::string html_list(const std::vector<std::string>& items, std::string_view classes) {
  std::string out = fmt::format("<ul{}>\n", classes.empty() ? std::string() : fmt::format(" class=\"{}\"", classes));
  for (const std::string& item : items) out += "<li>" + xml_text(item) + "</li>\n";
  return out + "</ul>\n";
}

std::string html_details(std::string_view title, const std::vector<std::string>& lines) {
  std::string out = fmt::format("<details><summary>{}</summary>\n<pre>", xml_text(title));
  for (const std::string& line : lines) out += xml_text(line) + "\n";
  return out + "</pre></details>\n";
}

std::string html_tables(const std::vector<std::string>& files, std::string_view folder) {
  std::string links;
  for (const std::string& file : files)
    links += fmt::format("{}<a href=\"{}{}{}\">{}</a>", links.empty() ? "" : ", ", percent_encoded(folder), folder.empty() ? "" : "/",
                         percent_encoded(file), xml_text(file));
  return "<p class=\"dim\">Tables: " + links + "</p>\n";
}

std::string html_numbers(const std::vector<LargeNumber>& numbers) {
  std::string out;
  for (const auto& [value, what] : numbers)
    if (!value.empty()) out += fmt::format("<p><strong>{}</strong>{}</p>\n", xml_text(value), xml_text(what));
  return out.empty() ? out : "<div class=\"numbers\">\n" + out + "</div>\n";
}

std::string html_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows, std::size_t words,
                       std::size_t marked, std::string_view id, const std::vector<std::string>& links) {
  const auto cells = [&](const std::vector<std::string>& row, const char* tag, const std::string& link = {}) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string inside = xml_text(row[i]);
      if (i == 0 && !link.empty()) inside = fmt::format("<a href=\"{}\">{}</a>", xml_text(link), inside);
      text += fmt::format("<{0}{1}>{2}</{3}>", tag, i < words ? " class=\"word\"" : "", inside, std::string_view(tag).substr(0, 2));
    }
    return text;
  };
  std::string out =
      "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>" + cells(head, "th scope=\"col\"") + "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += fmt::format("<tr{}{}>{}</tr>\n", id.empty() ? std::string() : fmt::format(" id=\"{}-{}\"", id, i),
                       i == marked ? " class=\"best\"" : "", cells(rows[i], "td", i < links.size() ? links[i] : std::string()));
  return out + "</tbody></table></div>\n";
}

}  // namespace straggler
