// An HTML page that needs nothing besides itself: it makes no request, is light or dark as the reader's system is, and can be read without
// scripts. With them its charts (figure.hpp) and tables can be pointed at, zoomed, sorted and filtered.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A document in its order. ECharts, most of its bytes, stays where the program has it.
struct PageParts {
  std::string before;
  std::string_view echarts;  // empty in a page without charts
  std::string after;
  std::string text() const;
};
/// The whole document around `body`, which is HTML.
PageParts page_parts(std::string_view title, std::string_view body);
std::string html_page(std::string_view title, std::string_view body);
/// Our own scripts, in the order in which they run: all, or those of a page without charts.
std::vector<std::string_view> page_scripts(bool charts = true);
/// The style of pages.
std::string_view page_style();
/// The program carries ECharts.
bool charts_move();

/// Files that the program carries for its pages, as they were when it was built.
namespace resources {
/// Apache ECharts, minified; empty where the program was built without npm: charts stay still then.
std::string_view echarts();
/// Licences and notices of ECharts and its bundled parts; empty without it.
std::string_view echarts_licences();
/// Our own, in the order in which they run.
std::string_view format_script(), axes_script(), table_script(), chart_script(), kinds_script(), cells_script(), arranged_script(),
    notes_script(), lines_script(), timeline_script(), selection_script(), page_script();
std::string_view page_style();
}  // namespace resources

/// A path as a link names it.
std::string percent_encoded(std::string_view path);
/// Plain text in a paragraph; `classes` may be empty.
std::string html_paragraph(std::string_view text, std::string_view classes = {});
std::string html_list(const std::vector<std::string>& items, std::string_view classes = {});
/// Lines that are shown on demand, as they are.
std::string html_details(std::string_view title, const std::vector<std::string>& lines);
/// "Tables: a.csv, b.csv", links to files in `folder`, as seen from the page; empty: beside it.
std::string html_tables(const std::vector<std::string>& files, std::string_view folder);

/// A large number at the top of a page, and what it is.
struct LargeNumber {
  std::string value, what;
};
/// In a row; empty without any. Those without a value are left out.
std::string html_numbers(const std::vector<LargeNumber>& numbers);

/// The meaning of intervals and counts, for every page.
inline constexpr const char* interval_words =
    "Times are simulated. Intervals are 95 % confidence intervals of the mean over seeds; \u201c3 of 5\u201d: three of five runs reached "
    "it, and the mean is over these.";

/// A table; the first `words` columns are left-aligned text, `marked` names a row to stand out (none: rows.size()). Cells are plain text.
/// `id`: rows are called "ID-0", "ID-1" … for links; empty: they are not. `links`: [rows], to where the first cell leads; may be empty.
std::string html_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows, std::size_t words,
                       std::size_t marked, std::string_view id = {}, const std::vector<std::string>& links = {});

}  // namespace straggler
