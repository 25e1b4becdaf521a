#!/usr/bin/env python3
"""Training steps of PyTorch, for compare_pytorch: forward, backward, SGD with momentum, fp32, one thread.

Prints "MODEL/batch:N SAMPLES_PER_SECOND" for each case, over SECONDS each, by processor time as Google Benchmark counts it:
what neighbours take of the core does not count.
Usage: pytorch_steps.py [SECONDS]. Pin it and tune it as compare_pytorch does.
"""
import sys
import time

import torch

CASES = [([784, 200, 200, 10], 32), ([784, 200, 200, 10], 256), ([2, 128, 4], 32), ([2, 128, 4], 256)]


def steps(widths, rows, seconds):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = torch.nn.CrossEntropyLoss()
    x, y = torch.rand(rows, widths[0]) - 0.5, torch.randint(0, widths[-1], (rows,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), y).backward()
        optimizer.step()

    for _ in range(20):
        step()
    count, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < seconds:
        for _ in range(20):
            step()
        count += 20
    return count * rows / spent


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for widths, rows in CASES:
        print(f"{'-'.join(map(str, widths))}/batch:{rows} {steps(widths, rows, seconds):.0f}")
