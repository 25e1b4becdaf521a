// The page keeps no results of earlier runs: explanations that ask for a store in memory get one that forgets.
#include "scenarios/sweep/evaluation_file.hpp"

namespace straggler {

struct EvaluationFile::Open {};

EvaluationFile::EvaluationFile(const std::filesystem::path& file, std::uint64_t cap, Tell /*tell*/, int patience_ms)
    : file_(file), cap_(cap), patience_ms_(patience_ms) {}
EvaluationFile::~EvaluationFile() = default;
std::optional<Evaluation> EvaluationFile::find(const Key& /*evaluation*/) { return std::nullopt; }
void EvaluationFile::keep(const Key& /*evaluation*/, const Evaluation& /*value*/) {}
std::vector<Key> EvaluationFile::values(const Key& /*root*/) { return {}; }
bool EvaluationFile::find_value(const Key& /*root*/, const Key& /*value*/, std::span<float> /*to*/) { return false; }
void EvaluationFile::keep_value(const Key& /*root*/, const Key& /*value*/, std::span<const float> /*floats*/) {}
void EvaluationFile::forget_value(const Key& /*root*/, const Key& /*value*/) {}

}  // namespace straggler
