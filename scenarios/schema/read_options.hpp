// Inputs of reading a scenario besides its text.
#pragma once
#include <cstdint>
#include <filesystem>

#include "scenarios/schema/vocabulary.hpp"

namespace straggler {

struct ReadOptions {
  const Vocabulary* vocabulary = nullptr;  // null: Vocabulary::from_registries()
  std::uint64_t memory = 0;                // bytes that a run may use; 0: this machine's memory
  std::uint64_t bytes_per_worker = 1024;   // least memory of a worker, timing alone
  // The first `sets_of_file` sets are from a file in that folder (a sweep's): relative paths in them start there.
  int sets_of_file = 0;
  std::filesystem::path sets_folder = {};
};

}  // namespace straggler
