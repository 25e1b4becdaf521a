#!/usr/bin/env python3
"""What NumPy and PyTorch take for what compressors do on 10^7 values, for compare_compression: one thread, by processor time.

Prints "CASE LIBRARY SECONDS" for each case and library that this Python has, "without LIBRARY" for one that it has not.
Usage: numpy_compression.py [SECONDS]. Pin it and tune it as compare_compression does.
"""
import sys
import time

D, K = 10_000_000, 100_000


def seconds(call, least):
    call()
    rounds, start = 0, time.process_time()
    while rounds == 0 or time.process_time() - start < least:
        call()
        rounds += 1
    return (time.process_time() - start) / rounds


def numpy_cases(np):
    chance = np.random.default_rng(1)
    v = (chance.random(D, np.float32) * 3 - 1.5) * chance.random(D, np.float32)

    def top_k():
        indices = np.argpartition(np.abs(v), D - K)[D - K:].astype(np.uint32)
        return indices, v[indices]

    def signs():
        return np.packbits(v < 0)

    def int8():
        largest = np.abs(v).max()
        return np.rint(v * (127 / largest)).astype(np.int8), largest

    def qsgd():
        buckets = v[:D // 512 * 512].reshape(-1, 512)
        units = np.linalg.norm(buckets, axis=1, keepdims=True) / 15
        levels = np.floor(np.abs(buckets) / units + chance.random(buckets.shape, np.float32))
        return (np.sign(buckets) * levels).astype(np.int8), units

    return {"top_k": top_k, "signsgd": signs, "int8": int8, "qsgd": qsgd, "fp16": lambda: v.astype(np.float16)}


def torch_cases(torch):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    v = (torch.rand(D) * 3 - 1.5) * torch.rand(D)

    def top_k():
        indices = torch.topk(v.abs(), K, sorted=False).indices
        return indices.to(torch.int32), v[indices]

    def int8():
        largest = v.abs().max()
        return torch.round(v * (127 / largest)).to(torch.int8), largest

    def qsgd():
        buckets = v[:D // 512 * 512].view(-1, 512)
        units = buckets.norm(dim=1, keepdim=True) / 15
        levels = torch.floor(buckets.abs() / units + torch.rand_like(buckets))
        return (buckets.sign() * levels).to(torch.int8), units

    return {"top_k": top_k, "signsgd": lambda: v < 0, "int8": int8, "qsgd": qsgd, "fp16": lambda: v.half(), "bf16": lambda: v.bfloat16()}


def main():
    least = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    for library, cases in (("numpy", numpy_cases), ("torch", torch_cases)):
        try:
            module = __import__(library)
        except ImportError:
            print("without", library)
            continue
        for case, call in cases(module).items():
            print(case, library, seconds(call, least), flush=True)


if __name__ == "__main__":
    main()
