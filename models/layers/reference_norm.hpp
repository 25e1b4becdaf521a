// Norms, plainly: y = gain (x - mean) / √(variance + ε) + bias. Batch norm (Ioffe, Szegedy 2015) takes mean and variance of a channel
// over the batch and all places, layer norm (Ba, Kiros, Hinton 2016) of a place over its channels. Sums are in double.
#pragma once
#include <cmath>
#include <cstddef>

#include "models/layers/norm.hpp"

namespace straggler::reference {

/// `count` numbers that share a mean and a variance, in `blocks` runs of `count / blocks`, `stride` apart from run to run and
/// `step` within a run.
struct Normalized {
  std::size_t blocks, stride, run, step;

  double count() const { return static_cast<double>(blocks * run); }
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t block = 0; block < blocks; ++block)
      for (std::size_t i = 0; i < run; ++i) visit(block * stride + i * step);
  }
};

/// Channel's numbers in [rows][channels][places], counted from its first.
inline Normalized of_channel(std::size_t rows, std::size_t channels, std::size_t places) { return {rows, channels * places, places, 1}; }
/// The channels at one place of one row, counted from the first.
inline Normalized of_place(std::size_t channels, std::size_t places) { return {1, 0, channels, places}; }

struct Moments {
  double mean = 0, variance = 0;  // Σ (x - mean)² / count
};

template <class Scalar>
Moments moments(const Normalized& set, const Scalar* x) {
  Moments of;
  set.each([&](std::size_t i) { of.mean += static_cast<double>(x[i]); });
  of.mean /= set.count();
  set.each([&](std::size_t i) {
    const double difference = static_cast<double>(x[i]) - of.mean;
    of.variance += difference * difference;
  });
  of.variance /= set.count();
  return of;
}

/// dx += (dz - mean(dz) - z mean(dz z)) / deviation over a set, where z = (x - mean) / deviation and dz(i) is the derivative by z.
template <class Scalar, class Derivative>
void normalize_backward(const Normalized& set, double mean, double deviation, const Scalar* x, const Derivative& dz, Scalar* dx) {
  const auto z = [&](std::size_t i) { return (static_cast<double>(x[i]) - mean) / deviation; };
  double sum = 0, product = 0;
  set.each([&](std::size_t i) {
    sum += dz(i);
    product += dz(i) * z(i);
  });
  sum /= set.count();
  product /= set.count();
  set.each([&](std::size_t i) { dx[i] += static_cast<Scalar>((dz(i) - sum - z(i) * product) / deviation); });
}

/// Over a batch: also writes mean[channels] and variance[channels], the latter as Σ (x - mean)² / (count - 1), which running variances
/// follow (0 if there is only one number).
template <class Scalar>
void batch_norm_forward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, const Scalar* bias,
                        Scalar* y, Scalar* mean, Scalar* variance) {
  const Normalized set = of_channel(rows, channels, places);
  for (std::size_t c = 0; c < channels; ++c, x += places, y += places) {
    const Moments of = moments(set, x);
    const double scale = static_cast<double>(gain[c]) / std::sqrt(of.variance + norm_epsilon);
    set.each(
        [&](std::size_t i) { y[i] = static_cast<Scalar>((static_cast<double>(x[i]) - of.mean) * scale + static_cast<double>(bias[c])); });
    mean[c] = static_cast<Scalar>(of.mean);
    variance[c] = static_cast<Scalar>(set.count() > 1 ? of.variance * set.count() / (set.count() - 1) : 0);
  }
}

/// With the running statistics in the batch's role.
template <class Scalar>
void batch_norm_evaluate(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain,
                         const Scalar* bias, const Scalar* mean, const Scalar* variance, Scalar* y) {
  const Normalized set = of_channel(rows, channels, places);
  for (std::size_t c = 0; c < channels; ++c, x += places, y += places) {
    const double scale = static_cast<double>(gain[c]) / std::sqrt(static_cast<double>(variance[c]) + norm_epsilon);
    set.each([&](std::size_t i) {
      y[i] = static_cast<Scalar>((static_cast<double>(x[i]) - static_cast<double>(mean[c])) * scale + static_cast<double>(bias[c]));
    });
  }
}

/// dgain += Σ dy z, dbias += Σ dy, and dx (null: none) through the mean and the variance too.
template <class Scalar>
void batch_norm_backward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, const Scalar* dy,
                         Scalar* dgain, Scalar* dbias, Scalar* dx) {
  const Normalized set = of_channel(rows, channels, places);
  for (std::size_t c = 0; c < channels; ++c, x += places, dy += places) {
    const Moments of = moments(set, x);
    const double deviation = std::sqrt(of.variance + norm_epsilon);
    double by_gain = 0, by_bias = 0;
    set.each([&](std::size_t i) {
      by_gain += static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - of.mean) / deviation;
      by_bias += static_cast<double>(dy[i]);
    });
    dgain[c] += static_cast<Scalar>(by_gain);
    dbias[c] += static_cast<Scalar>(by_bias);
    if (!dx) continue;
    const auto dz = [&](std::size_t i) { return static_cast<double>(dy[i]) * static_cast<double>(gain[c]); };
    normalize_backward(set, of.mean, deviation, x, dz, dx);
    dx += places;
  }
}

/// Of the channels at one place, counted from the first.
template <class Scalar>
double mean_square(std::size_t channels, std::size_t places, const Scalar* x) {
  double sum = 0;
  for (std::size_t c = 0; c < channels; ++c) sum += static_cast<double>(x[c * places]) * static_cast<double>(x[c * places]);
  return sum / static_cast<double>(channels);
}

template <class Scalar>
void layer_norm_forward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, const Scalar* bias,
                        Scalar* y) {
  const Normalized set = of_place(channels, places);
  for (std::size_t row = 0; row < rows; ++row, x += channels * places, y += channels * places)
    for (std::size_t place = 0; place < places; ++place) {
      const Moments of = moments(set, x + place);
      const double deviation = std::sqrt(of.variance + norm_epsilon);
      for (std::size_t c = 0; c < channels; ++c) {
        const double z = (static_cast<double>(x[c * places + place]) - of.mean) / deviation;
        y[c * places + place] = static_cast<Scalar>(z * static_cast<double>(gain[c]) + static_cast<double>(bias[c]));
      }
    }
}

/// dgain += Σ dy z, dbias += Σ dy, dx (null: none) as above.
template <class Scalar>
void layer_norm_backward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, const Scalar* dy,
                         Scalar* dgain, Scalar* dbias, Scalar* dx) {
  const Normalized set = of_place(channels, places);
  for (std::size_t row = 0; row < rows; ++row, x += channels * places, dy += channels * places)
    for (std::size_t place = 0; place < places; ++place) {
      const Moments of = moments(set, x + place);
      const double deviation = std::sqrt(of.variance + norm_epsilon);
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t i = c * places + place;
        dgain[c] += static_cast<Scalar>(static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - of.mean) / deviation);
        dbias[c] += dy[i];
      }
      const auto dz = [&](std::size_t i) { return static_cast<double>(dy[place + i]) * static_cast<double>(gain[i / places]); };
      if (dx) normalize_backward(set, of.mean, deviation, x + place, dz, dx + row * channels * places + place);
    }
}

/// y = gain x / √(mean(x²) + ε) over the channels of a place.
template <class Scalar>
void rms_norm_forward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, Scalar* y) {
  for (std::size_t row = 0; row < rows; ++row, x += channels * places, y += channels * places)
    for (std::size_t place = 0; place < places; ++place) {
      const double scale = 1 / std::sqrt(mean_square(channels, places, x + place) + norm_epsilon);
      for (std::size_t i = place; i < channels * places; i += places)
        y[i] = static_cast<Scalar>(static_cast<double>(x[i]) * scale * static_cast<double>(gain[i / places]));
    }
}

/// dgain += Σ dy z with z = x / r, r = √(mean(x²) + ε); dx (null: none) += (dz - z mean(dz z)) / r with dz = dy gain.
template <class Scalar>
void rms_norm_backward(std::size_t rows, std::size_t channels, std::size_t places, const Scalar* x, const Scalar* gain, const Scalar* dy,
                       Scalar* dgain, Scalar* dx) {
  for (std::size_t row = 0; row < rows; ++row, x += channels * places, dy += channels * places)
    for (std::size_t place = 0; place < places; ++place) {
      const double scale = 1 / std::sqrt(mean_square(channels, places, x + place) + norm_epsilon);
      const auto z = [&](std::size_t i) { return static_cast<double>(x[i]) * scale; };
      const auto dz = [&](std::size_t i) { return static_cast<double>(dy[i]) * static_cast<double>(gain[i / places]); };
      double product = 0;
      for (std::size_t i = place; i < channels * places; i += places) {
        dgain[i / places] += static_cast<Scalar>(static_cast<double>(dy[i]) * z(i));
        product += dz(i) * z(i);
      }
      product /= static_cast<double>(channels);
      for (std::size_t i = place; dx && i < channels * places; i += places)
        dx[row * channels * places + i] += static_cast<Scalar>((dz(i) - z(i) * product) * scale);
    }
}

}  // namespace straggler::reference
