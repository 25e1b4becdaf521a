#!/usr/bin/env python3
"""Training steps of PyTorch, for compare_pytorch: forward, backward, SGD with momentum (not in NAME_gradient), fp32, one thread.

Prints "MODEL/batch:N SAMPLES_PER_SECOND" for each case, over SECONDS each, by processor time as Google Benchmark counts it:
what neighbours take of the core does not count.
Usage: pytorch_steps.py [SECONDS [NAME,NAME,…]]. Pin it and tune it as compare_pytorch does.
"""
import sys
import time

import torch

nn = torch.nn


def perceptron(*widths):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet5():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def fedavg_cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18():
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Residual(i, o, 1 if i == o else 2) for i, o in zip(widths, widths[1:])]
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(512, 10))


class Attention(nn.Module):
    """Causal: one product for all projections, and batched ones for all heads, with the mask added."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.full((context, context), float("-inf")).triu(1))

    def forward(self, x):
        rows, places, width = x.shape
        q, k, v = (part.reshape(rows * self.heads, places, -1)
                   for part in self.qkv(x).view(rows, places, 3, self.heads, -1).permute(2, 0, 3, 1, 4))
        scores = torch.baddbmm(self.mask.expand(len(q), -1, -1), q, k.transpose(1, 2), alpha=(width // self.heads)**-0.5)
        context = torch.bmm(scores.softmax(-1), v).view(rows, self.heads, places, -1)
        return self.out(context.transpose(1, 2).reshape(rows, places, width))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads, context))
        self.hidden = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.hidden(x)


class Transformer(nn.Module):
    """models_bench's."""

    def __init__(self, width=128, heads=4, context=64, vocabulary=96, blocks=4):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads, context) for _ in range(blocks)), nn.LayerNorm(width))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.blocks(self.tokens(x) + self.positions).mean(1))


# name: model, shape of a sample, classes, batches; a transformer's samples are numbers of classes
CASES = {
    "784-200-200-10": (lambda: perceptron(784, 200, 200, 10), [784], 10, [32, 256]),
    "2-128-4": (lambda: perceptron(2, 128, 4), [2], 4, [32, 256]),
    "lenet5": (lenet5, [1, 28, 28], 10, [32, 256]),
    "fedavg_cnn": (fedavg_cnn, [1, 28, 28], 10, [32]),
    "resnet18": (resnet18, [3, 32, 32], 10, [32]),
    "transformer": (Transformer, [64], 96, [16]),
    "transformer_gradient": (Transformer, [64], 96, [16]),
}


def steps(name, rows, seconds):
    make, shape, classes, _ = CASES[name]
    model, x, y = make(), torch.rand(rows, *shape) - 0.5, torch.randint(0, classes, (rows,))
    if make is Transformer:
        x = torch.randint(0, classes, (rows, *shape))
    if shape[0] == 3:  # channels last is the faster layout for the residual network, and no faster for the others
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), y).backward()
        if not name.endswith("_gradient"):
            optimizer.step()

    begin = time.process_time()
    step()
    chunk = max(1, min(20, int(seconds / 20 / (time.process_time() - begin))))
    for _ in range(chunk):
        step()
    count, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < seconds:
        for _ in range(chunk):
            step()
        count += chunk
    return count * rows / spent


def refuse_reference_blas():
    """Debian's torch runs on whatever libblas.so.3 is; netlib's is no opponent."""
    torch.rand(8, 8) @ torch.rand(8, 8)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if any("/blas/libblas.so" in line for line in maps):
            sys.exit("pytorch_steps: PyTorch runs on the reference BLAS, ten times slower than it can; install libopenblas0-serial")


if __name__ == "__main__":
    refuse_reference_blas()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for name in sys.argv[2].split(",") if len(sys.argv) > 2 else CASES:
        for rows in CASES[name][3]:
            print(f"{name}/batch:{rows} {steps(name, rows, seconds):.0f}", flush=True)
