// Versions of the formats of files that this program writes and reads back.
#pragma once

namespace straggler {

/// Raised where an earlier program would misread what this one writes. A file without a version has version 1.
struct FormatVersion {
  static constexpr int scenario = 1, sweep = 1, claim = 1;  // the first key of the file
  static constexpr int results = 1;                         // of a run's folder, in its run.json
  static constexpr int state = 1;                           // of sweeps, searches and races: user_version of the database
  static constexpr int answer = 4;                          // of a search or race, in its state
  static constexpr int store = 2;                           // user_version of the database
  static constexpr int checkpoint = 1;                      // the last byte of its mark
  static constexpr int rank_checkpoint = 1;                 // likewise, of real ranks
};

}  // namespace straggler
