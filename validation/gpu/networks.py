"""The networks of Straggler's zoo in PyTorch, parameter for parameter. tests/zoo/reference/make_networks takes the images' from here, so
that what step_times measures is what the tests compare with the zoo."""
import torch
from torch import nn


class Block(nn.Module):
    """A residual block of github.com/kuangliu/pytorch-cifar: two 3x3 convolutions, or 1x1, 3x3, 1x1 with four times the channels."""

    def __init__(self, inputs, channels, stride, bottleneck):
        super().__init__()
        outputs = 4 * channels if bottleneck else channels
        shapes = [(inputs, channels, 3, stride), (channels, outputs, 3, 1)]
        if bottleneck:
            shapes = [(inputs, channels, 1, 1), (channels, channels, 3, stride), (channels, outputs, 1, 1)]
        layers = []
        for into, out, side, step in shapes:
            layers += [nn.Conv2d(into, out, side, step, side // 2, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
        self.body = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def resnet(stem, stages, bottleneck=False):
    """For 32x32 images: a 3x3 convolution of stride 1 comes first, and nothing is pooled before the blocks. Stages: (channels, blocks)."""
    layers = [nn.Conv2d(3, stem, 3, 1, 1, bias=False), nn.BatchNorm2d(stem), nn.ReLU()]
    width = stem
    for stage, (channels, blocks) in enumerate(stages):
        for index in range(blocks):
            layers.append(Block(width, channels, 2 if stage > 0 and index == 0 else 1, bottleneck))
            width = 4 * channels if bottleneck else channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def dense(*widths):
    layers = [nn.Flatten()]
    for into, out in zip(widths, widths[1:]):
        layers += [nn.Linear(into, out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def image_cnn(first, second, second_pad, hidden, flat):
    layers = [nn.Conv2d(1, first, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(2),
              nn.Conv2d(first, second, 5, 1, second_pad), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    for into, out in zip([flat] + hidden, hidden):
        layers += [nn.Linear(into, out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(hidden[-1], 10))


class SkipGram(nn.Module):
    """Skip-gram with negative sampling (Mikolov et al. 2013): scores of a centre with its context and its negatives. Gradients are sparse:
    of two ways that PyTorch has, the faster one."""

    def __init__(self, words, dimension):
        super().__init__()
        self.inputs = nn.Embedding(words, dimension, sparse=True)
        self.outputs = nn.Embedding(words, dimension, sparse=True)

    def forward(self, centres, targets):
        return torch.bmm(self.outputs(targets), self.inputs(centres).unsqueeze(2)).squeeze(2)


# name: how to make it
BUILDERS = {
    "softmax": lambda: dense(784, 10),
    "mlp": lambda: dense(784, 200, 200, 10),
    "lenet5": lambda: image_cnn(6, 16, 0, [120, 84], 400),
    "fedavg_cnn": lambda: image_cnn(32, 64, 2, [512], 3136),
    "resnet8": lambda: resnet(16, [(16, 1), (32, 1), (64, 1)]),
    "resnet18": lambda: resnet(64, [(64, 2), (128, 2), (256, 2), (512, 2)]),
    "resnet50": lambda: resnet(64, [(64, 3), (128, 4), (256, 6), (512, 3)], True),
    "skipgram": lambda: SkipGram(20_000, 100),
}
