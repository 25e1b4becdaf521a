"""The integer recipe of weights, inputs and labels that the tests repeat bit for bit, so that the reference files hold only what PyTorch
computed from them. And multilayer perceptrons with such weights."""
import sys

import numpy
import torch


def number(salt, count):
    """number(salt, i) in [-1/2, 1/2): the high 24 bits of a multiplicative hash, exact in float32."""
    i = numpy.arange(count, dtype=numpy.uint64)
    x = (i * 2654435761 + salt * 40503 + 12345) % 2**32
    x = ((x ^ (x >> 15)) * 2246822519) % 2**32
    x = ((x ^ (x >> 13)) * 3266489917) % 2**32
    return (x >> 8).astype(numpy.float64) / 2**24 - 0.5


def below(bound, salt, count):
    """Whole numbers."""
    return torch.from_numpy(((number(salt, count) + 0.5) * bound).astype(numpy.int64))


def perceptron(widths, dtype, scale=lambda inputs: 1.0):
    """Layer l takes its weights from salt 2 l and its biases from 2 l + 1, times scale(inputs of the layer). They are rounded to float32 in
    both types, so that training begins from the same."""
    layers = []
    for l, (i, o) in enumerate(zip(widths, widths[1:])):
        linear = torch.nn.Linear(i, o).to(dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy((number(2 * l, i * o) * scale(i)).astype(numpy.float32).reshape(o, i)))
            linear.bias.copy_(torch.from_numpy((number(2 * l + 1, o) * scale(i)).astype(numpy.float32)))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).to(torch.float64).numpy()


def train(model, optimizer, steps, rows, inputs, classes):
    """The loss before each step, and all weights after the last. Step s has its inputs from salt 100 + s and its labels from 200 + s."""
    dtype = next(model.parameters()).dtype
    losses = []
    for step in range(steps):
        x = torch.from_numpy(number(100 + step, rows * inputs).reshape(rows, -1)).to(dtype)
        y = below(classes, 200 + step, rows)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, flat(model.parameters())


def write_steps(cases, widths, rows, steps):
    """Prints `case,kind,index,value`: the loss before each step and all final weights of a perceptron, in float64, for each case
    {name: optimizer of its parameters}. How far float32 is off goes to standard error."""
    print("case,kind,index,value")
    start = flat(perceptron(widths, torch.float64).parameters())
    for case, make in cases.items():
        runs = {}
        for dtype in (torch.float64, torch.float32):
            model = perceptron(widths, dtype)
            runs[dtype] = train(model, make(model.parameters()), steps, rows, widths[0], widths[-1])
        losses, weights = runs[torch.float64]
        off = numpy.linalg.norm(runs[torch.float32][1] - weights) / numpy.linalg.norm(weights - start)
        print(f"{case}: float32 is off by {off:.1e} of the change of the weights (torch {torch.__version__})", file=sys.stderr)
        for i, loss in enumerate(losses):
            print(f"{case},loss,{i},{loss:.17g}")
        for i, weight in enumerate(weights):
            print(f"{case},weight,{i},{weight:.17g}")
