// Model files of quantization: reads the trained one, writes the quantized one.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "models/quantization/post_training.hpp"
#include "models/safetensors/typed.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

/// Weights as I8 (one number per byte, for any number of bits) and biases as I32, in the shapes and under the names of the trained model.
/// Beside each are "NAME.scale" (F32) and "NAME.zero_point" (I32), of one number or one per channel; values have "LAYER.output.scale" and
/// ".zero_point". Tensors that are not quantized are F32. A folded batch norm's tensors are in its convolution's.
TypedFile quantized_file(const InferenceNetwork& network, const QuantizedNetwork& quantized, const QuantizationChoice& choice,
                         const QuantizedParts& parts);

const char* name_of(GridScheme scheme);
const char* name_of(RangeRule rule);

}  // namespace straggler
