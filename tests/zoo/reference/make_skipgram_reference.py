#!/usr/bin/env python3
"""Writes skipgram_gradient.csv: loss and gradient of skip-gram with negative sampling, for skipgram_test.cpp to compare with.

Weights, pairs and negatives come from an integer recipe (recipe.py) that the test repeats bit for bit, so the file holds only what
PyTorch's autograd computed in float64: the loss, and the gradient of the input and the output vectors. The same in float32 is compared
with it here and its distance printed: the noise a float32 implementation may have.

Needs PyTorch (Debian: python3-torch). Usage: make_skipgram_reference.py > skipgram_gradient.csv
"""
import sys

import numpy
import torch

from recipe import below, number

WORDS, WIDTH, NEGATIVES, PAIRS = 13, 21, 5, 40


def compute(dtype):
    inputs = torch.nn.Embedding(WORDS, WIDTH, _weight=torch.from_numpy(number(1, WORDS * WIDTH).reshape(WORDS, WIDTH)).to(dtype))
    outputs = torch.nn.Embedding(WORDS, WIDTH, _weight=torch.from_numpy(number(2, WORDS * WIDTH).reshape(WORDS, WIDTH)).to(dtype))
    centres, contexts, negatives = below(WORDS, 3, PAIRS), below(WORDS, 4, PAIRS), below(WORDS, 5, PAIRS * NEGATIVES).reshape(PAIRS, NEGATIVES)
    u = inputs(centres).unsqueeze(2)
    positive = torch.bmm(outputs(contexts).unsqueeze(1), u).reshape(PAIRS)
    negative = torch.bmm(outputs(negatives), u).squeeze(2)
    loss = -(torch.nn.functional.logsigmoid(positive) + torch.nn.functional.logsigmoid(-negative).sum(1)).mean()
    loss.backward()
    return loss.item(), torch.cat([inputs.weight.grad.reshape(-1), outputs.weight.grad.reshape(-1)]).to(torch.float64).numpy()


loss, gradient = compute(torch.float64)
loss32, gradient32 = compute(torch.float32)
print(
    f"float32 is off by {abs(loss32 / loss - 1):.1e} in the loss, {numpy.linalg.norm(gradient32 - gradient) / numpy.linalg.norm(gradient):.1e} "
    "of the gradient's norm",
    file=sys.stderr,
)
print("kind,index,value")
print(f"loss,0,{loss:.17g}")
for i, value in enumerate(gradient):
    print(f"gradient,{i},{value:.17g}")
