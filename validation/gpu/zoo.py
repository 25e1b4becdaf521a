"""The networks of Straggler's zoo that are measured in PyTorch, and what ends a measurement. Needs no PyTorch."""

# name: shape of a sample (none: pairs of words), parameters that Straggler's model of this name has
MODELS = {
    "softmax": ((1, 28, 28), 7_850),
    "mlp": ((1, 28, 28), 199_210),
    "lenet5": ((1, 28, 28), 61_706),
    "fedavg_cnn": ((1, 28, 28), 1_663_370),
    "resnet8": ((3, 32, 32), 78_042),
    "resnet18": ((3, 32, 32), 11_173_962),
    "resnet50": ((3, 32, 32), 23_520_842),
    "skipgram": (None, 2 * 20_000 * 100),
}
WORDS, NEGATIVES = 20_000, 5
PRECISIONS = ["fp32", "tf32", "fp16", "bf16"]


class Failed(Exception):
    """Ends the program; the text says why."""
