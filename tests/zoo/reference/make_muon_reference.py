#!/usr/bin/env python3
"""Writes muon_steps.csv: fifty steps of Lion and of Muon on an MLP 12-24-16-5, for muon_test.cpp to follow.

Both optimizers are written here from their papers' formulas (Chen et al. 2023, algorithm 2; Jordan et al. 2024), on torch.linalg and
torch.optim.AdamW, since PyTorch 1.13 has neither. Inputs, labels and initial weights come from the integer recipe of recipe.py, which the
test repeats bit for bit. The file holds the loss before each step and all 797 final weights, computed in float64; how far float32 is off
is printed.

Needs PyTorch (Debian: python3-torch). Usage: make_muon_reference.py > muon_steps.csv
"""
import sys

import torch

from recipe import write_steps

WIDTHS = [12, 24, 16, 5]  # one hidden matrix is tall, 24 x 12, the other wide, 16 x 24
ROWS, STEPS = 8, 50


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "betas": betas, "decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                momentum = self.state[w].setdefault("momentum", torch.zeros_like(w))
                (beta1, beta2), g = group["betas"], w.grad
                w -= group["lr"] * (torch.sign(beta1 * momentum + (1 - beta1) * g) + group["decay"] * w)
                momentum.mul_(beta2).add_(g, alpha=1 - beta2)


def orthogonal(u):
    x = u / (u.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    for _ in range(5):
        product = x @ x.T
        x = 3.4445 * x + (-4.7750 * product + 2.0315 * product @ product) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """The hidden weights: all matrices but the last layer's. AdamW steps the others."""

    def __init__(self, parameters, lr, adamw_lr, momentum=0.95, nesterov=True, betas=(0.9, 0.999), weight_decay=0.0):
        parameters = list(parameters)
        hidden = [w for w in parameters[:-2] if w.ndim >= 2]
        others = [w for w in parameters if all(w is not each for each in hidden)]
        super().__init__(hidden, {"lr": lr, "momentum": momentum, "nesterov": nesterov, "decay": weight_decay})
        self.adamw = torch.optim.AdamW(others, lr=adamw_lr, betas=betas, eps=1e-8, weight_decay=weight_decay)

    def zero_grad(self):
        super().zero_grad()
        self.adamw.zero_grad()

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                v = self.state[w].setdefault("momentum", torch.zeros_like(w))
                v.mul_(group["momentum"]).add_(w.grad)
                u = w.grad + group["momentum"] * v if group["nesterov"] else v
                w.mul_(1 - group["lr"] * group["decay"])
                w -= group["lr"] * max(1, w.shape[0] / w.shape[1]) ** 0.5 * orthogonal(u)
        self.adamw.step()


CASES = {
    "lion": lambda p: Lion(p, lr=0.01),
    "lion_decay": lambda p: Lion(p, lr=0.003, betas=(0.8, 0.95), weight_decay=0.5),
    "muon": lambda p: Muon(p, lr=0.02, adamw_lr=0.01),
    "muon_decay": lambda p: Muon(p, lr=0.05, adamw_lr=0.005, momentum=0.8, nesterov=False, betas=(0.8, 0.95), weight_decay=0.1),
}


if len(sys.argv) > 1:
    sys.exit(__doc__)
write_steps(CASES, WIDTHS, ROWS, STEPS)
