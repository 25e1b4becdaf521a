// How much links have carried, every so often: of bounded number, evenly spread over the run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/engine/time.hpp"
#include "sim/record/record.hpp"

namespace straggler {

class LinkSamples {
 public:
  static constexpr std::size_t most_samples = 2'048, most_links = 64;

  /// All links are sampled if there are at most `most_links`, else none: which ones matter is not known yet.
  LinkSamples() = default;
  /// These are.
  explicit LinkSamples(std::vector<std::size_t> links) : links_(std::move(links)), known_(true) {}

  void add(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of);
  const std::vector<std::size_t>& links() const { return links_; }
  const std::vector<Time>& times() const { return times_; }
  /// [times][links()]: bytes carried up to then.
  const std::vector<std::vector<double>>& bytes() const { return bytes_; }

 private:
  std::vector<std::size_t> links_;
  bool known_ = false;
  std::uint64_t stride_ = 1, calls_ = 0;
  std::vector<Time> times_;
  std::vector<std::vector<double>> bytes_;
};

/// The links with the highest utilization, busiest first, at most `most`.
std::vector<std::size_t> busiest_links(const LinkTable& links, Time end, std::size_t most);

}  // namespace straggler
