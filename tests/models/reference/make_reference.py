#!/usr/bin/env python3
"""Writes sgd_steps.csv: ten steps of torch.optim.SGD on an MLP 784-200-200-10, for pytorch_test.cpp to follow.

Inputs, labels and initial weights come from an integer recipe (`number` below) that the test repeats bit for bit, so the
file holds only what PyTorch computed: the loss before each step, and every 101st of the 199,210 final weights, for momentum
with and without Nesterov. All in float64, so that the order of its sums does not matter; the same steps in float32 are
compared with them here and their distance printed: that is the noise a float32 implementation may have.

Needs PyTorch (Debian: python3-torch). Usage: make_reference.py > sgd_steps.csv
"""
import sys

import numpy
import torch

WIDTHS = [784, 200, 200, 10]
ROWS, STEPS, EVERY = 32, 10, 101
RATE, MOMENTUM, DECAY = 0.1, 0.9, 1e-4


def number(salt, count):
    """number(salt, i) in [-1/2, 1/2): the high 24 bits of a multiplicative hash, exact in float32."""
    i = numpy.arange(count, dtype=numpy.uint64)
    x = (i * 2654435761 + salt * 40503 + 12345) % 2**32
    x = ((x ^ (x >> 15)) * 2246822519) % 2**32
    x = ((x ^ (x >> 13)) * 3266489917) % 2**32
    return (x >> 8).astype(numpy.float64) / 2**24 - 0.5


def network(dtype):
    layers = []
    for l, (i, o) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        linear = torch.nn.Linear(i, o).to(dtype)
        bound = 2 / numpy.sqrt(float(i))
        with torch.no_grad():
            # Rounded to float32 in both types: the initial weights are the same.
            linear.weight.copy_(torch.from_numpy((number(2 * l, i * o) * bound).astype(numpy.float32).reshape(o, i)))
            linear.bias.copy_(torch.from_numpy((number(2 * l + 1, o) * bound).astype(numpy.float32)))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def train(dtype, nesterov):
    model = network(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=nesterov)
    losses = []
    for step in range(STEPS):
        x = torch.from_numpy(number(100 + step, ROWS * WIDTHS[0]).reshape(ROWS, -1)).to(dtype)
        y = torch.from_numpy(((number(200 + step, ROWS) + 0.5) * WIDTHS[-1]).astype(numpy.int64))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()]).to(torch.float64).numpy()
    return losses, weights


print("nesterov,kind,index,value")
for nesterov in (False, True):
    losses, weights = train(torch.float64, nesterov)
    losses32, weights32 = train(torch.float32, nesterov)
    start = torch.cat([p.detach().reshape(-1) for p in network(torch.float64).parameters()]).numpy()
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
