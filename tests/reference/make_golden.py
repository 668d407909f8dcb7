"""Trains the GPT with PyTorch and writes what it found into golden/ (README.md says what is where).

    python3 make_golden.py            writes the golden values
    python3 make_golden.py --check    computes them again and compares with those committed

Needs PyTorch (Debian: python3-torch) and numpy. The tests in C++ read the committed files and need
neither.
"""

import json
import pathlib
import sys

import numpy as np
import torch

from gpt import GPT
from initial_values import initial_values

GOLDEN = pathlib.Path(__file__).parent / "golden"
CONFIGURATIONS = {
    "small": dict(layers=2, heads=3, channels=21, context=7, vocab=29, batch=5, seed=1),
    "deep": dict(layers=3, heads=5, channels=25, context=13, vocab=67, batch=6, seed=20),
}
ITERATIONS = 50
LEARNING_RATE, WARMUP, WEIGHT_DECAY, CLIP = 3e-3, 5, 0.1, 1.0

TEXT = (
    "Each rank trains on its own part of the batch and finds its own gradient. What the ranks must "
    "agree on is the average, and how they share the work of keeping it is the whole subject: the "
    "first stage cuts the optimizer states, the second the gradients, the third the parameters. "
    "Nothing is lost by cutting. The sum is the same sum, the step is the same step, and only the "
    "memory that each of them needs becomes smaller, for the price of a little more traffic."
)


def write_tokens(path, tokens):
    """As llm.c writes them: 256 int32 of header, then uint16."""
    header = np.zeros(256, dtype="<i4")
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + tokens.astype("<u2").tobytes())


def make_batch(tokens, iteration, batch, context):
    """Sequence s of all starts at token s*T, modulo what leaves room for T+1 tokens."""
    s = iteration * batch + np.arange(batch)
    starts = s * context % (len(tokens) - context)
    index = starts[:, None] + np.arange(context + 1)  # (B, T+1)
    window = torch.from_numpy(tokens[index])
    return window[:, :-1], window[:, 1:]


def checksum(values):
    """Of the bits of fp32 values and their positions, modulo 2^64."""
    bits = values.view(np.uint32).astype(np.uint64)
    return f"{int(((np.arange(len(bits), dtype=np.uint64) + np.uint64(1)) * bits).sum()):016x}"


def make_model(config):
    """The model with its initial values, and these as one flat vector."""
    shape = {key: config[key] for key in ("layers", "heads", "channels", "context", "vocab")}
    model = GPT(**shape)
    flat = []
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            begin = sum(len(part) for part in flat)
            values = initial_values(
                config["seed"], name, tuple(tensor.shape), begin, config["layers"]
            )
            tensor.copy_(torch.from_numpy(values))
            flat.append(values.reshape(-1))
    return model, np.concatenate(flat)


def train(config, tokens):
    """Returns what goes into the JSON file, and the first gradient as one flat vector."""
    model, initial = make_model(config)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": WEIGHT_DECAY},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=LEARNING_RATE,
        betas=(0.9, 0.999),
        eps=1e-8,
    )

    losses, norms = [], []
    for iteration in range(ITERATIONS):
        x, y = make_batch(tokens, iteration, config["batch"], config["context"])
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        if iteration == 0:
            first = np.concatenate([p.grad.numpy().reshape(-1) for p in model.parameters()])
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)))
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (iteration + 1) / WARMUP)
        optimizer.step()
        losses.append(float(loss))

    found = {
        "torch": torch.__version__,
        "config": config,
        "learning_rate": LEARNING_RATE,
        "warmup": WARMUP,
        "weight_decay": WEIGHT_DECAY,
        "clip": CLIP,
        "tensors": [
            {"name": name, "shape": list(p.shape)} for name, p in model.named_parameters()
        ],
        "initial_checksum": checksum(initial),
        "losses": losses,
        "gradient_norms": norms,
    }
    return found, first


def write_golden(name, tokens, found, gradients):
    GOLDEN.mkdir(exist_ok=True)
    write_tokens(GOLDEN / f"{name}.tokens.bin", tokens)
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    (GOLDEN / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    gradients.astype("<f4").tofile(GOLDEN / f"{name}.gradients.f32")


def check_golden(name, found, gradients):
    """Other versions of PyTorch add in other orders: equal to the tests' tolerances."""
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    committed = np.fromfile(GOLDEN / f"{name}.gradients.f32", dtype="<f4")
    exact = ("config", "learning_rate", "warmup", "weight_decay", "clip", "tensors")
    for key in exact + ("initial_checksum",):
        assert golden[key] == found[key], f"{name}: {key} differs"
    np.testing.assert_allclose(found["losses"], golden["losses"], rtol=1e-4)
    np.testing.assert_allclose(found["gradient_norms"], golden["gradient_norms"], rtol=1e-3)
    error = np.linalg.norm(gradients - committed) / np.linalg.norm(committed)
    assert error <= 1e-5, f"{name}: the gradient differs by {error:.1e}"
    print(f"{name}: {len(committed)} gradients equal to {error:.1e}, {len(found['losses'])} losses")


def main():
    torch.set_num_threads(1)
    for name, config in CONFIGURATIONS.items():
        tokens = np.frombuffer(TEXT.encode(), dtype=np.uint8).astype(np.int64) % config["vocab"]
        found, gradients = train(config, tokens)
        if "--check" in sys.argv[1:]:
            check_golden(name, found, gradients)
        else:
            write_golden(name, tokens, found, gradients)


if __name__ == "__main__":
    main()
