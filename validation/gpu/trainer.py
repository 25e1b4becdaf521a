"""One training step of a network of the zoo in PyTorch, which step_times and shared_device measure."""
import time

import torch

from networks import BUILDERS
from zoo import MODELS, NEGATIVES, WORDS, Failed

AUTOCAST = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Trainer:
    """zero_grad, forward, cross entropy, backward and an SGD update with momentum on one batch that is on the device already (skipgram: the
    loss of negative sampling, 5 negatives a pair, sparse gradients, SGD without momentum). `wrap` may replace the network by one that holds
    it, such as DistributedDataParallel."""

    def __init__(self, name, precision, batch, device, wrap=lambda model: model):
        shape, parameters = MODELS[name]
        torch.manual_seed(1)
        # Matrix products and convolutions of FP32 tensors: in TF32 only where that was asked for.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.device, self.precision = device, precision
        network = BUILDERS[name]().to(device)
        count = sum(p.numel() for p in network.parameters())
        if count != parameters:
            raise Failed(f"{name} has {count} parameters here and {parameters} in Straggler")
        self.model = wrap(network)
        if shape is None:
            self.inputs = torch.randint(0, WORDS, (batch,), device=device), torch.randint(0, WORDS, (batch, 1 + NEGATIVES), device=device)
            self.sign = torch.tensor([1.0] + [-1.0] * NEGATIVES, device=device)
        else:
            self.inputs = (torch.randn(batch, *shape, device=device),)
            self.labels = torch.randint(0, 10, (batch,), device=device)
        self.pairs = shape is None
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.0 if self.pairs else 0.9)
        # Half precision needs its gradients scaled; bfloat16 does not.
        self.scaler = None
        if precision == "fp16":
            self.scaler = torch.amp.GradScaler(device.type) if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()

    def loss(self, scores):
        if self.pairs:
            return -torch.nn.functional.logsigmoid(scores * self.sign).sum(1).mean()
        return torch.nn.functional.cross_entropy(scores, self.labels)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        kind = AUTOCAST.get(self.precision)
        with torch.autocast(self.device.type, dtype=kind, enabled=kind is not None):
            loss = self.loss(self.model(*self.inputs))
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def timed(self):
        """Seconds of a step, and of those the ones until the host had issued all of its work (on a CPU: all)."""
        self.synchronize()
        start = time.perf_counter()
        self.step()
        issued = time.perf_counter()
        self.synchronize()
        return time.perf_counter() - start, issued - start
