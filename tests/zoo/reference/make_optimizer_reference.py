#!/usr/bin/env python3
"""Writes optimizer_steps.csv: ten steps of torch.optim's Adam, AdamW and Adagrad on an MLP 12-16-5, for adaptive_test.cpp to follow.

Inputs, labels and initial weights come from the integer recipe of recipe.py, which the test repeats bit for bit. The file
holds the loss before each step and all 293 final weights, computed in float64; how far PyTorch's own float32 is off is printed.

Needs PyTorch (Debian: python3-torch). Usage: make_optimizer_reference.py > optimizer_steps.csv
"""
import sys

import torch

from recipe import write_steps

WIDTHS = [12, 16, 5]
ROWS, STEPS = 8, 10
CASES = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "adagrad_decay": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.01, eps=1e-6),
}


if len(sys.argv) > 1:
    sys.exit(__doc__)
write_steps(CASES, WIDTHS, ROWS, STEPS)
