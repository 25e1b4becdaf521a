"""The integer recipe of weights, inputs and labels that the tests repeat bit for bit, so that the reference files hold only what PyTorch
computed from them. And multilayer perceptrons with such weights."""
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
