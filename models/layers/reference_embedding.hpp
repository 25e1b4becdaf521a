// Embedding, plainly: the row of a table for each token.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>

namespace straggler::reference {

/// Converts an input number to its token. Throws std::invalid_argument if the table has no such row.
template <class Scalar>
std::size_t token(Scalar x, std::size_t table_rows) {
  if (!(x >= 0 && x < static_cast<Scalar>(table_rows)) || x != static_cast<Scalar>(static_cast<std::size_t>(x)))
    throw std::invalid_argument("an embedding of " + std::to_string(table_rows) + " rows is given the token " +
                                std::to_string(static_cast<double>(x)) + "; tokens are whole numbers from 0 below that");
  return static_cast<std::size_t>(x);
}

/// x[rows][places] are tokens; y[rows][channels][places] = table[token][channels].
template <class Scalar>
void embedding_forward(std::size_t rows, std::size_t places, std::size_t table_rows, std::size_t channels, const Scalar* x,
                       const Scalar* table, Scalar* y) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t place = 0; place < places; ++place) {
      const Scalar* const from = table + token(x[row * places + place], table_rows) * channels;
      for (std::size_t c = 0; c < channels; ++c) y[(row * channels + c) * places + place] = from[c];
    }
}

/// dtable[token] += dy.
template <class Scalar>
void embedding_backward(std::size_t rows, std::size_t places, std::size_t table_rows, std::size_t channels, const Scalar* x,
                        const Scalar* dy, Scalar* dtable) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t place = 0; place < places; ++place) {
      Scalar* const to = dtable + token(x[row * places + place], table_rows) * channels;
      for (std::size_t c = 0; c < channels; ++c) to[c] += dy[(row * channels + c) * places + place];
    }
}

/// y[rows][channels][places] += table[place][channels].
template <class Scalar>
void positions_forward(std::size_t rows, std::size_t places, std::size_t channels, const Scalar* table, Scalar* y) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t place = 0; place < places; ++place) y[(row * channels + c) * places + place] += table[place * channels + c];
}

/// dtable += Σ dy over the rows.
template <class Scalar>
void positions_backward(std::size_t rows, std::size_t places, std::size_t channels, const Scalar* dy, Scalar* dtable) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t place = 0; place < places; ++place) dtable[place * channels + c] += dy[(row * channels + c) * places + place];
}

}  // namespace straggler::reference
