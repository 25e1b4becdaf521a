// The phases of a worker's time, without gap or overlap (docs/model.md, Accounts). A new phase is an enumerator and a row in this file, and
// a line where its time is counted (TimeAccounts::phase_of): tables, summaries and pages list the rows.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace straggler {

enum class Phase : std::uint8_t { compute, wasted, loading, communication, idle, down, checkpointing, recovering };

/// Where a summary lists the share of a phase.
enum class PhaseShown : std::uint8_t {
  first,   // before the others, and in short lists
  always,  // in full lists
  if_any,  // in full lists, if it has any time
};

/// Which power a machine draws in a phase.
enum class Draw : std::uint8_t { idle, busy, communicating, none };

struct PhaseRow {
  Phase phase{};
  const char* name = "";   // names its columns: NAME_s in seconds, NAME_fraction of a worker's time
  const char* title = "";  // in tables and on pages; the class of its colour
  const char* spent = "";  // workers spend 5 % of their time ...
  const char* verb = "";   // its workers ... 3 ms a sample
  const char* does = "";   // in a picture a worker ...
  PhaseShown shown = PhaseShown::always;
  const char* colour = "";   // the class of a series; "grey": page.css has its colours
  const char* shape = "";    // the class of its shape in pictures
  Draw draw = Draw::idle;    // none: it costs nothing
  bool of_recovery = false;  // only runs that may fail have it (RunRecord::recovery)
};

/// In the order of enumerators, which is that of columns.
inline constexpr auto phase_rows = std::to_array<PhaseRow>({
    {Phase::compute, "compute", "computing", "computing", "compute", "computes", PhaseShown::first, "s0", "block", Draw::busy},
    {Phase::wasted, "wasted", "wasted", "on wasted work", "waste", "dropped work", PhaseShown::always, "s1", "hollow", Draw::busy},
    {Phase::loading, "loading", "loading", "loading data", "load", "loads a batch", PhaseShown::if_any, "s4", "block"},
    {Phase::communication, "communication", "communicating", "communicating", "communicate", "sends or receives", PhaseShown::first, "s2",
     "thick", Draw::communicating},
    {Phase::idle, "idle", "idle", "idle", "idle", "waits", PhaseShown::first, "grey", "ideal"},
    {Phase::down, "down", "down", "down", "are down", "is not there", PhaseShown::if_any, "grey", "nobody", Draw::none},
    {Phase::checkpointing, "checkpointing", "checkpointing", "saving checkpoints", "save checkpoints", "saves a checkpoint",
     PhaseShown::if_any, "s6", "block", Draw::communicating, true},
    {Phase::recovering, "recovering", "recovering", "recovering from failures", "recover", "recovers", PhaseShown::if_any, "s7", "block",
     Draw::idle, true},
});
inline constexpr std::size_t phase_count = phase_rows.size();
constexpr std::size_t index_of(Phase phase) { return static_cast<std::size_t>(phase); }
static_assert(std::ranges::all_of(phase_rows, [](const PhaseRow& row) { return &row == &phase_rows[index_of(row.phase)]; }));

constexpr const PhaseRow& row_of(Phase phase) { return phase_rows[index_of(phase)]; }
constexpr const char* name_of(Phase phase) { return row_of(phase).name; }

/// The rows in the order of summaries: those that are shown first, then the others.
inline constexpr std::array<PhaseRow, phase_count> summary_phases = [] {
  std::array<PhaseRow, phase_count> rows{};
  std::size_t next = 0;
  for (const bool first : {true, false})
    for (const PhaseRow& row : phase_rows)
      if ((row.shown == PhaseShown::first) == first) rows[next++] = row;
  return rows;
}();

/// A value for each phase.
template <class T>
struct ByPhase {
  std::array<T, phase_count> parts{};
  constexpr T& operator[](std::size_t phase) { return parts[phase]; }
  constexpr const T& operator[](std::size_t phase) const { return parts[phase]; }
  constexpr T& operator[](Phase phase) { return parts[index_of(phase)]; }
  constexpr const T& operator[](Phase phase) const { return parts[index_of(phase)]; }
  constexpr auto begin() const { return parts.begin(); }
  constexpr auto end() const { return parts.end(); }
  constexpr auto begin() { return parts.begin(); }
  constexpr auto end() { return parts.end(); }
  bool operator==(const ByPhase&) const = default;
};

/// "compute_s": its column, in seconds.
const std::string& seconds_column(Phase phase);
/// "compute_fraction": its share, in summary.json.
const std::string& share_key(Phase phase);

}  // namespace straggler
