#!/usr/bin/env python3
"""Training steps of PyTorch, for compare_pytorch: forward, backward, SGD with momentum, fp32, one thread.

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


# name: model, shape of a sample, classes, batches
CASES = {
    "784-200-200-10": (lambda: perceptron(784, 200, 200, 10), [784], 10, [32, 256]),
    "2-128-4": (lambda: perceptron(2, 128, 4), [2], 4, [32, 256]),
    "lenet5": (lenet5, [1, 28, 28], 10, [32, 256]),
    "fedavg_cnn": (fedavg_cnn, [1, 28, 28], 10, [32]),
    "resnet18": (resnet18, [3, 32, 32], 10, [32]),
}


def steps(make, shape, classes, rows, seconds):
    model, x, y = make(), torch.rand(rows, *shape) - 0.5, torch.randint(0, classes, (rows,))
    if shape[0] == 3:  # channels last is the faster layout for the residual network, and no faster for the others
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), y).backward()
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
        make, shape, classes, batches = CASES[name]
        for rows in batches:
            print(f"{name}/batch:{rows} {steps(make, shape, classes, rows, seconds):.0f}", flush=True)
