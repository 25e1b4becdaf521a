#include "scenarios/report/page.hpp"

#include <fmt/format.h>

#include "scenarios/report/picture.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr const char* page_style = R"(*{box-sizing:border-box}html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{font:16px/1.55 system-ui,'DejaVu Sans',sans-serif;background:var(--bg);color:var(--fg);max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.2em 0 .4em}h2{font-size:1.2rem;margin:2.2em 0 .6em}h3{font-size:1rem;margin:0 0 .5em}
h1,h3,p,li,figcaption,summary{overflow-wrap:anywhere}p,li{max-width:46rem}.dim,figcaption{color:var(--dim)}figcaption{font-size:.88rem;margin-top:.3rem}
.findings{background:var(--panel);border-left:4px solid var(--s0);border-radius:4px;padding:.7rem 1rem .7rem 2rem;margin:0}
.warning{border-left:4px solid var(--s1);background:var(--panel);border-radius:4px;padding:.7rem 1rem .7rem 2rem;margin:.8rem 0}p.warning{padding-left:1rem}
.findings li{margin:.25em 0}figure{margin:0 0 2.2rem}.wide{overflow-x:auto;max-width:100%}
.wide>svg{display:block;max-width:100%;min-width:min(34rem,var(--natural,34rem));height:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}th,td{padding:.32rem .8rem .32rem 0;text-align:right;
border-bottom:1px solid var(--rule);white-space:nowrap}th{color:var(--dim);font-weight:600}.word{text-align:left}tr.best td{font-weight:600}
td:first-child,th:first-child{padding-left:.4rem}tr.best td:first-child{box-shadow:inset 3px 0 var(--s0)}
details{margin-top:1rem}summary{cursor:pointer}pre{background:var(--panel);padding:.8rem;border-radius:4px;overflow-x:auto;font-size:.82rem;line-height:1.4}
code{font-size:.92em}@media print{details{display:none}.wide{overflow:visible}})";

/// A path as a link names it.
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

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}{}\n</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      xml_text(title), picture_style(), page_style, body);
}

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

std::string html_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows, std::size_t words,
                       std::size_t marked) {
  const auto cells = [&](const std::vector<std::string>& row, const char* tag) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i)
      text +=
          fmt::format("<{0}{1}>{2}</{3}>", tag, i < words ? " class=\"word\"" : "", xml_text(row[i]), std::string_view(tag).substr(0, 2));
    return text;
  };
  std::string out =
      "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>" + cells(head, "th scope=\"col\"") + "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += fmt::format("<tr{}>{}</tr>\n", i == marked ? " class=\"best\"" : "", cells(rows[i], "td"));
  return out + "</tbody></table></div>\n";
}

std::string html_figure(std::string_view title, std::string_view svg, std::string_view caption) {
  return fmt::format("<figure>\n<h3>{}</h3>\n<div class=\"wide\" tabindex=\"0\">{}</div>\n{}</figure>\n", xml_text(title), svg,
                     caption.empty() ? std::string() : fmt::format("<figcaption>{}</figcaption>\n", xml_text(caption)));
}

}  // namespace straggler
