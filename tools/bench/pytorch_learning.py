#!/usr/bin/env python3
"""Trains a network on Fashion-MNIST by PyTorch, for compare_learning, and prints one line of JSON for each seed.

Images are read and normalized as Straggler does: minus the mean, over the standard deviation, of all training pixels. Every epoch has a
new order; the last, smaller batch of an epoch counts. Weights start by PyTorch's defaults.
Usage: pytorch_learning.py MODEL --epochs N --batch N --rate X --momentum X --seeds N [--data FOLDER] [--train-limit N] [--test-limit N]
"""
import argparse
import gzip
import json
import os
import time

import numpy
import torch
from torch import nn


def read_idx(folder, name, header):
    path = os.path.join(folder, name)
    opened = gzip.open(path + ".gz", "rb") if os.path.exists(path + ".gz") else open(path, "rb")
    with opened as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def read_data(folder, train_limit, test_limit):
    halves = []
    for part, limit in (("train", train_limit), ("t10k", test_limit)):
        images = read_idx(folder, f"{part}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[:limit]
        labels = read_idx(folder, f"{part}-labels-idx1-ubyte", 8)[:limit]
        halves.append((images, torch.tensor(labels.astype(numpy.int64))))
    pixels = halves[0][0].astype(numpy.float64)
    mean, deviation = pixels.mean(), pixels.std()
    return [(torch.tensor(((images - mean) / deviation).astype(numpy.float32)), labels) for images, labels in halves]


def dense(widths):
    layers = [nn.Flatten()]
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet5():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                                  nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        same = stride == 1 and before == after
        self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


def resnet8():
    return nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


MODELS = {"softmax": lambda: dense([784, 10]), "mlp": lambda: dense([784, 200, 200, 10]), "lenet5": lenet5, "resnet8": resnet8}


def evaluate(model, images, labels):
    model.eval()
    with torch.no_grad():
        scores = torch.cat([model(images[i:i + 1000]) for i in range(0, len(images), 1000)])
    model.train()
    return {"loss": nn.functional.cross_entropy(scores, labels).item(), "accuracy": (scores.argmax(1) == labels).double().mean().item()}


def train(arguments, seed, train_set, test_set):
    torch.manual_seed(seed)
    model = MODELS[arguments.model]()
    images, labels = train_set
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.rate, momentum=arguments.momentum)
    begin = time.perf_counter()
    for _ in range(arguments.epochs):
        order = torch.randperm(len(images))
        for at in range(0, len(images), arguments.batch):
            chosen = order[at:at + arguments.batch]
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
    seconds = time.perf_counter() - begin
    test = evaluate(model, *test_set)
    return {"seed": seed, "parameters": sum(p.numel() for p in model.parameters()), "test_accuracy": test["accuracy"], "test_loss": test["loss"],
            "train_loss": evaluate(model, *train_set)["loss"], "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="learning rate")
    parser.add_argument("--momentum", type=float, required=True)
    parser.add_argument("--seeds", type=int, required=True, help="seeds 1 to N")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the four IDX files")
    parser.add_argument("--train-limit", type=int)
    parser.add_argument("--test-limit", type=int)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    train_set, test_set = read_data(arguments.data, arguments.train_limit, arguments.test_limit)
    for seed in range(1, arguments.seeds + 1):
        print(json.dumps(train(arguments, seed, train_set, test_set)), flush=True)


if __name__ == "__main__":
    main()
