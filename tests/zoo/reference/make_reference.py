#!/usr/bin/env python3
"""Writes sgd_steps.csv: ten steps of torch.optim.SGD on an MLP 784-200-200-10, for pytorch_test.cpp to follow.

Inputs, labels and initial weights come from an integer recipe (recipe.py) that the test repeats bit for bit, so the
file holds only what PyTorch computed: the loss before each step, and every 101st of the 199,210 final weights, for momentum
with and without Nesterov. All in float64, so that the order of its sums does not matter; the same steps in float32 are
compared with them here and their distance printed: that is the noise a float32 implementation may have.

Needs PyTorch (Debian: python3-torch). Usage: make_reference.py > sgd_steps.csv
"""
import sys

import numpy
import torch

from recipe import flat, perceptron, train

WIDTHS = [784, 200, 200, 10]
ROWS, STEPS, EVERY = 32, 10, 101
RATE, MOMENTUM, DECAY = 0.1, 0.9, 1e-4


def made(dtype):
    return perceptron(WIDTHS, dtype, lambda inputs: 2 / numpy.sqrt(float(inputs)))


def run(dtype, nesterov):
    model = made(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=nesterov)
    return train(model, optimizer, STEPS, ROWS, WIDTHS[0], WIDTHS[-1])


print("nesterov,kind,index,value")
for nesterov in (False, True):
    losses, weights = run(torch.float64, nesterov)
    losses32, weights32 = run(torch.float32, nesterov)
    start = flat(made(torch.float64).parameters())
    print(
        f"nesterov={nesterov}: float32 is off by {max(abs(a / b - 1) for a, b in zip(losses32, losses)):.1e} in the losses, "
        f"{numpy.linalg.norm(weights32 - weights) / numpy.linalg.norm(weights):.1e} of the weights' norm, "
        f"{numpy.linalg.norm(weights32 - weights) / numpy.linalg.norm(weights - start):.1e} of the change's",
        file=sys.stderr,
    )
    for i, loss in enumerate(losses):
        print(f"{int(nesterov)},loss,{i},{loss:.17g}")
    for i in range(0, len(weights), EVERY):
        print(f"{int(nesterov)},weight,{i},{weights[i]:.17g}")
