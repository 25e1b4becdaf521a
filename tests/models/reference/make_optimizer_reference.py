#!/usr/bin/env python3
"""Writes optimizer_steps.csv: ten steps of torch.optim's Adam, AdamW and Adagrad on an MLP 12-16-5, for adaptive_test.cpp to follow.

Inputs, labels and initial weights come from the integer recipe of make_reference.py, which the test repeats bit for bit. The file
holds the loss before each step and all 293 final weights, computed in float64; how far PyTorch's own float32 is off is printed.

Needs PyTorch (Debian: python3-torch). Usage: make_optimizer_reference.py > optimizer_steps.csv
"""
import sys

import numpy
import torch

WIDTHS = [12, 16, 5]
ROWS, STEPS = 8, 10
CASES = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "adagrad_decay": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.01, eps=1e-6),
}


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
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(number(2 * l, i * o).reshape(o, i)))
            linear.bias.copy_(torch.from_numpy(number(2 * l + 1, o)))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def train(dtype, make):
    model = network(dtype)
    optimizer = make(model.parameters())
    losses = []
    for step in range(STEPS):
        x = torch.from_numpy(number(100 + step, ROWS * WIDTHS[0]).reshape(ROWS, -1)).to(dtype)
        y = torch.from_numpy(((number(200 + step, ROWS) + 0.5) * WIDTHS[-1]).astype(numpy.int64))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.cat([p.detach().reshape(-1) for p in model.parameters()]).to(torch.float64).numpy()


if len(sys.argv) > 1:
    sys.exit(__doc__)
print("case,kind,index,value")
start = torch.cat([p.detach().reshape(-1) for p in network(torch.float64).parameters()]).numpy()
for case, make in CASES.items():
    losses, weights = train(torch.float64, make)
    losses32, weights32 = train(torch.float32, make)
    off = numpy.linalg.norm(weights32 - weights) / numpy.linalg.norm(weights - start)
    print(f"{case}: float32 is off by {off:.1e} of the change of the weights (torch {torch.__version__})", file=sys.stderr)
    for i, loss in enumerate(losses):
        print(f"{case},loss,{i},{loss:.17g}")
    for i, weight in enumerate(weights):
        print(f"{case},weight,{i},{weight:.17g}")
