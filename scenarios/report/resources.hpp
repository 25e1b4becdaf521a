// Files that the program carries for its pages, as they were when it was built.
#pragma once
#include <string_view>

namespace straggler::resources {

/// Apache ECharts, minified; empty where the program was built without npm: charts stay still then.
std::string_view echarts();
/// Licences and notices of ECharts and its bundled parts; empty without it.
std::string_view echarts_licences();
/// Our own, in the order in which they run.
std::string_view format_script(), table_script(), chart_script(), kinds_script(), cells_script(), timeline_script(), page_script();
std::string_view page_style();

}  // namespace straggler::resources
