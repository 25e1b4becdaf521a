#include "scenarios/results/link_samples.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace straggler {

void LinkSamples::add(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) {
  if (!known_) {
    known_ = true;
    if (count <= most_links) {
      links_.resize(count);
      std::iota(links_.begin(), links_.end(), std::size_t{0});
    }
  }
  if (links_.empty() || ++calls_ % stride_ != 0 || (!times_.empty() && now <= times_.back())) return;
  times_.push_back(now);
  std::vector<double>& row = bytes_.emplace_back();
  for (const std::size_t link : links_) row.push_back(bytes_of(link));
  if (times_.size() < most_samples) return;
  stride_ *= 2;
  for (std::size_t i = 1; i < times_.size(); i += 2) {  // each second one, the latest among them
    times_[i / 2] = times_[i];
    bytes_[i / 2] = std::move(bytes_[i]);
  }
  times_.resize(times_.size() / 2);
  bytes_.resize(times_.size());
}

namespace {

std::pair<double, double> load_of(const LinkTable& links, std::size_t link) {
  if (links.load) return links.load(link);
  const LinkRecord row = links.row(link);
  return {row.bytes, row.bytes_per_second};
}

}  // namespace

std::vector<std::size_t> busiest_links(const LinkTable& links, Time end, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> shares;
  for (std::size_t link = 0; link < links.size; ++link) {
    const auto [bytes, rate] = load_of(links, link);
    if (bytes > 0 && end > Time()) shares.emplace_back(-bytes / (rate * end.seconds()), link);
  }
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> busiest;
  for (std::size_t i = 0; i < std::min(most, shares.size()); ++i) busiest.push_back(shares[i].second);
  return busiest;
}

}  // namespace straggler
