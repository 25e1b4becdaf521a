#include "sim/record/costs.hpp"

namespace straggler {

namespace {

double seconds(WideTicks ticks) { return static_cast<double>(ticks) / static_cast<double>(Time::ticks_per_second); }

double watts(const Power& power, Draw draw) {
  switch (draw) {
    case Draw::busy:
      return power.busy;
    case Draw::communicating:
      return power.communicating;
    case Draw::idle:
      return power.idle;
    case Draw::none:
      break;
  }
  return 0;
}

}  // namespace

double Tariff::price(const ByPhase<WideTicks>& ticks) const {
  constexpr double hour = 3600;
  WideTicks paid = 0;
  for (const PhaseRow& row : phase_rows)
    if (billed_while_down || row.draw != Draw::none) paid += ticks[row.phase];
  return price_per_hour * seconds(paid) / hour;
}

double Tariff::joules(const ByPhase<WideTicks>& ticks) const {
  double sum = 0;
  for (const PhaseRow& row : phase_rows) sum += watts(power, row.draw) * seconds(ticks[row.phase]);
  return sum;
}

}  // namespace straggler
