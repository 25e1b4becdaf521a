"""Trains on two local processes with DistributedDataParallel (gloo), records both with PyTorch's profiler, imports the traces, and lays the
replayed step beside the measured one. Usage: PYTHONPATH=build/release/python python3 profiled_ddp.py [FOLDER]

FOLDER gets rank0.json, rank1.json, and import/ with the scenario and report.html. Default: results/profiled_ddp."""
import os
import pathlib
import sys
import tempfile

import straggler
import torch
from torch import distributed, multiprocessing, nn

RANKS, WARM_UP, STEPS, BATCH = 2, 3, 20, 32


def train(rank: int, folder: str, meeting: str) -> None:
    """One rank: a few steps to warm up, then those that are recorded."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    layers = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    model = nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples, labels = torch.randn(BATCH, 512), torch.randint(10, (BATCH,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(samples), labels).backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        for _ in range(STEPS):
            step()
    profile.export_chrome_trace(os.path.join(folder, f"rank{rank}.json"))
    distributed.destroy_process_group()


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "results/profiled_ddp")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        multiprocessing.spawn(train, args=(str(folder), os.path.join(place, "meeting")), nprocs=RANKS)
    job = straggler.import_job(*(folder / f"rank{rank}.json" for rank in range(RANKS)), out=folder / "import")
    print(job.text)
    measured = job.facts["step_s"]
    replayed = straggler.run(job.scenario, timing_only=True).summary["step_s"]
    print(f"measured {1e3 * measured:.2f} ms a step, replayed {1e3 * replayed:.2f} ms ({100 * (replayed / measured - 1):+.1f} %)")
    print(f"page: {job.folder / 'report.html'}")


if __name__ == "__main__":
    main()
