// Softmax cross entropy on panels: lanes are samples, so the classes are summed without shuffles. Included by set.inc.hpp only.

/// The largest score of each sample of one vector.
STRAGGLER_INLINE Vector largest(std::size_t classes, const float* scores) {
  Vector top = load(scores);
  for (std::size_t c = 1; c < classes; ++c) {
    const Vector score = load(scores + c * panel_rows);
    top = score > top ? score : top;
  }
  return top;
}

/// -log softmax at the label from the sum of exponentials: any NaN score makes it NaN.
STRAGGLER_INLINE double cross_entropy(double sum, float top, float score) {
  return ::log(sum) - (static_cast<double>(score) - static_cast<double>(top));
}

double softmax_cross_entropy(std::size_t rows, std::size_t classes, float* scores, const std::int32_t* labels, const float* scale) {
  double loss = 0;
  for (std::size_t row = 0; row < rows; row += lanes) {
    float* const at = scores + row / panel_rows * classes * panel_rows + row % panel_rows;
    const std::size_t valid = least(lanes, rows - row);
    const Vector top = largest(classes, at);
    Vector sum{};
    float label_scores[lanes];
    for (std::size_t i = 0; i < valid; ++i) label_scores[i] = at[static_cast<std::size_t>(labels[row + i]) * panel_rows + i];
    for (std::size_t c = 0; c < classes; ++c) {
      const Vector e = exponential(load(at + c * panel_rows) - top);
      store(at + c * panel_rows, e);
      sum += e;
    }
    const Vector weight = load_some(scale + row, valid), factor = weight / sum;
    for (std::size_t c = 0; c < classes; ++c) store(at + c * panel_rows, load(at + c * panel_rows) * factor);
    for (std::size_t i = 0; i < valid; ++i) {
      at[static_cast<std::size_t>(labels[row + i]) * panel_rows + i] -= scale[row + i];
      loss += static_cast<double>(scale[row + i]) * cross_entropy(static_cast<double>(sum[i]), top[i], label_scores[i]);
    }
  }
  return loss;
}

double softmax_evaluate(std::size_t rows, std::size_t classes, const float* scores, const std::int32_t* labels, std::uint64_t* correct) {
  double loss = 0;
  for (std::size_t row = 0; row < rows; row += lanes) {
    const float* const at = scores + row / panel_rows * classes * panel_rows + row % panel_rows;
    const std::size_t valid = least(lanes, rows - row);
    const Vector top = largest(classes, at);
    Vector sum{};
    Integers winner = Integers{} - 1;  // the first class with the largest score; none for a NaN score
    for (std::size_t c = classes; c-- > 0;) {
      const Vector score = load(at + c * panel_rows);
      sum += exponential(score - top);
      winner = score == top ? Integers{} + static_cast<std::int32_t>(c) : winner;
    }
    for (std::size_t i = 0; i < valid; ++i) {
      const std::int32_t label = labels[row + i];
      const double entropy = cross_entropy(static_cast<double>(sum[i]), top[i], at[static_cast<std::size_t>(label) * panel_rows + i]);
      loss += entropy;
      if (winner[i] == label && entropy == entropy) ++*correct;
    }
  }
  return loss;
}
