// The pictures of a race: times at every threshold, and how far each pair is apart.
#pragma once
#include <string>
#include <vector>

#include "scenarios/report/race_answer.hpp"
#include "scenarios/report/sweep_figures.hpp"

namespace straggler {

/// "time to 0.8 (target)", "time an epoch".
std::string finish_title(const RacedFinish& finish);
/// "12.3 s ± 0.4 s (3 of 5)", "missed (0 of 5)".
std::string race_time_text(const RunValues& times);

/// `verdicts`: of the finishes; `sheets`: of the answer's settings, to which marks lead.
std::vector<Figure> race_figures(const RaceAnswer& answer, const std::vector<Verdict>& verdicts, const RunSheets& sheets);

}  // namespace straggler
