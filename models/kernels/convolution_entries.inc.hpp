// Convolutions on panels, forward and backward by the input, group by group. Included by set.inc.hpp only.

void conv_forward(std::size_t rows, const Convolution& conv, const float* x, const float* w, const float* b, bool relu, float* y,
                  float* scratch) {
  const std::size_t in = conv.group_in(), out = conv.group_out();
  const std::size_t plane = conv.slide.inputs() * panel_rows, out_plane = conv.slide.outputs() * panel_rows;
  const Slide slide{conv.slide, false, in, out};
  for (std::size_t group = 0; group < conv.groups; ++group) {
    if (conv.winograd()) {
      winograd(rows, Winograd(conv, false, scratch), conv.slide.height, x + group * in * plane, conv.in_channels * plane,
               w + group * out * in * conv.slide.places(), {b ? b + group * out : nullptr, nullptr, relu, y + group * out * out_plane},
               conv.out_channels * out_plane);
      continue;
    }
    for_even_tiles(out, PackWeights{slide, in, w + group * out * in * conv.slide.places(), scratch});
    slide_panels(rows, slide, x + group * in * plane, conv.in_channels * plane, scratch, b ? b + group * out : nullptr, nullptr, relu,
                 y + group * out * out_plane, conv.out_channels * out_plane);
  }
}

void conv_backward_input(std::size_t rows, const Convolution& conv, const float* dy, const float* w, const float* x, bool relu, float* dx,
                         float* scratch) {
  const std::size_t in = conv.group_in(), out = conv.group_out();
  const std::size_t plane = conv.slide.inputs() * panel_rows, out_plane = conv.slide.outputs() * panel_rows;
  const Slide slide{conv.slide, true, out, in};
  for (std::size_t group = 0; group < conv.groups; ++group) {
    if (conv.winograd()) {
      winograd(rows, Winograd(conv, true, scratch), conv.slide.height, dy + group * out * out_plane, conv.out_channels * out_plane,
               w + group * out * in * conv.slide.places(),
               {nullptr, relu ? x + group * in * plane : nullptr, false, dx + group * in * plane}, conv.in_channels * plane);
      continue;
    }
    for_even_tiles(in, PackWeights{slide, in, w + group * out * in * conv.slide.places(), scratch});
    slide_panels(rows, slide, dy + group * out * out_plane, conv.out_channels * out_plane, scratch, nullptr,
                 relu ? x + group * in * plane : nullptr, false, dx + group * in * plane, conv.in_channels * plane);
  }
}
