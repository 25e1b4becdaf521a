// Byte images and the floats that they stand for, shared by all image files. Results have the same bits on any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/normalization.hpp"

namespace straggler {

/// [count][channels][area], not owned.
struct Pixels {
  const std::uint8_t* bytes;
  std::size_t count, channels, area;
  std::size_t sample() const { return channels * area; }
};

/// Of each channel: `none` keeps 0 to 255; `unit` divides by 255; `standard` subtracts the mean of all training pixels of the channel and
/// divides by their standard deviation.
PixelMaps pixel_maps(Normalization normalize, const Pixels& training, unsigned threads);

/// All images of one half, from `start` on.
struct ReadImages {
  SampleBytes bytes;
  std::size_t start = 0;
};
/// Gives `data` its inputs, the first of these images, as many as its info says.
void take_images(Dataset& data, ReadImages train, ReadImages test, Normalization normalize, unsigned threads);

/// What is read at once: all images of both halves, of `sample` bytes each, of which so many are taken. `beside`: bytes that unpacking them
/// takes.
struct ImageSizes {
  std::size_t sample, train, test, train_taken, test_taken, beside;
};
/// Bytes at most besides the images kept. Where only some of a half are taken they are copied, one half after the other.
std::size_t bytes_while_read(const ImageSizes& images);

/// The parameters `normalize`, `train_limit` and `test_limit` of an image set.
std::vector<Parameter> image_parameters();
/// `count`, or the limit if it is given and smaller.
std::size_t limited(std::size_t count, const Parameters& parameters, const char* name);

}  // namespace straggler
