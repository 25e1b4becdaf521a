#include "validation/compare/minimize.hpp"

#include <exception>
#include <limits>
#include <nlopt.hpp>
#include <stdexcept>

namespace straggler {

namespace {

constexpr int evaluations_per_dimension = 250;

/// Keeps the best point itself: NLopt loses its own when it stops by an exception.
class Search {
 public:
  Search(const std::function<double(const std::vector<double>&)>& function, std::size_t dimensions, double good_enough)
      : function_(function), dimensions_(dimensions), good_enough_(good_enough) {}

  /// True if it converged to `tolerance`.
  bool run(nlopt::algorithm algorithm, std::vector<double> from, double step, double tolerance) {
    nlopt::opt method(algorithm, static_cast<unsigned>(dimensions_));
    method.set_lower_bounds(0.0);
    method.set_upper_bounds(1.0);
    method.set_initial_step(step);
    method.set_xtol_abs(tolerance);
    method.set_stopval(good_enough_);
    method.set_maxeval(evaluations_per_dimension * static_cast<int>(dimensions_));
    method.set_min_objective(&Search::evaluate, this);
    method_ = &method;
    double value = 0;
    try {
      return method.optimize(from, value) != nlopt::MAXEVAL_REACHED;
    } catch (const nlopt::roundoff_limited&) {
      return true;  // no longer distinguishable
    } catch (const nlopt::forced_stop&) {
      std::rethrow_exception(thrown_);
    }
  }
  const Minimum& best() const { return best_; }

 private:
  static double evaluate(const std::vector<double>& at, std::vector<double>&, void* self) {
    Search& search = *static_cast<Search*>(self);
    double value = 0;
    try {
      value = search.function_(at);
    } catch (...) {  // NLopt would lose the exception
      search.thrown_ = std::current_exception();
      search.method_->force_stop();
      return 0;
    }
    if (value < search.best_.value) {
      search.best_.value = value;
      search.best_.at = at;
    }
    return value;
  }

  const std::function<double(const std::vector<double>&)>& function_;
  std::size_t dimensions_;
  double good_enough_;
  nlopt::opt* method_ = nullptr;
  std::exception_ptr thrown_;
  Minimum best_{{}, std::numeric_limits<double>::infinity(), false};
};

}  // namespace

Minimum minimize(const std::function<double(const std::vector<double>&)>& function, const std::vector<std::vector<double>>& starts,
                 double good_enough, double coarse, int rounds) {
  if (starts.empty() || starts.front().empty()) throw std::logic_error("minimize: nothing to vary");
  constexpr double fine = 1e-9, little = 1e-6;
  const std::size_t dimensions = starts.front().size();
  Search search(function, dimensions, good_enough);
  for (const std::vector<double>& start : starts) search.run(nlopt::LN_SBPLX, start, 0.1, coarse);
  const nlopt::algorithm polisher = dimensions > 1 ? nlopt::LN_BOBYQA : nlopt::LN_SBPLX;
  bool converged = false;
  for (int round = 0; round < rounds; ++round) {
    const double before = search.best().value;
    converged = search.run(polisher, search.best().at, 0.01, fine);
    if (!(search.best().value < before * (1 - little))) break;
  }
  Minimum minimum = search.best();
  minimum.converged = converged;
  return minimum;
}

}  // namespace straggler
