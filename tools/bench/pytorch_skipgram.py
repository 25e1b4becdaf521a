#!/usr/bin/env python3
"""Training steps of skip-gram with negative sampling in PyTorch, for compare_skipgram: forward, backward, SGD, fp32, one thread.

Prints "WAY PAIRS_PER_SECOND" for each way to hold the gradients, over SECONDS each, by processor time: `dense`, and `sparse`
(nn.Embedding(sparse=True)), which touches the rows of the batch alone. Pairs and negatives are drawn beforehand and do not count.
Usage: pytorch_skipgram.py [SECONDS [WORDS DIMENSION NEGATIVES BATCH]]. Pin it and tune it as compare_skipgram does.
"""
import sys
import time

import torch


def rate(sparse, seconds, words, width, negatives, batch):
    inputs = torch.nn.Embedding(words, width, sparse=sparse)
    outputs = torch.nn.Embedding(words, width, sparse=sparse)
    optimizer = torch.optim.SGD([*inputs.parameters(), *outputs.parameters()], lr=0.01)
    batches = [(torch.randint(0, words, (batch,)), torch.randint(0, words, (batch, 1 + negatives))) for _ in range(16)]
    sign = torch.ones(1 + negatives)
    sign[1:] = -1

    def step(i):
        centres, targets = batches[i % len(batches)]
        optimizer.zero_grad(set_to_none=True)
        scores = torch.bmm(outputs(targets), inputs(centres).unsqueeze(2)).squeeze(2)
        loss = -torch.nn.functional.logsigmoid(scores * sign).sum(1).mean()
        loss.backward()
        optimizer.step()

    for i in range(5):
        step(i)
    count, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < seconds:
        step(count)
        count += 1
    return count * batch / spent


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    sizes = [int(text) for text in sys.argv[2:6]] or [20000, 100, 5, 1024]
    for sparse in (False, True):
        print("sparse" if sparse else "dense", f"{rate(sparse, seconds, *sizes):.0f}")
