#!/usr/bin/env python3
"""Times training steps of the same GPT in PyTorch: what the project's own programs are measured
against.

On the CPU in fp32, in one process, or several under DistributedDataParallel (gloo), with AdamW or,
with --zero, AdamW inside ZeroRedundancyOptimizer; one thread per process. On a GPU in one process:
in bf16, as the stages, with fp32 master weights that AdamW updates. Eager, with nothing compiled.
Writes {"iterations": [{"seconds": ...}, ...]}, the keys that the stage programs write.
"""

import argparse
import contextlib
import json
import math
import os
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402  (after the number of threads)
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Block(nn.Module):
    def __init__(self, channels, heads, context, attention):
        super().__init__()
        self.heads = heads
        self.attention = attention
        self.norm_1 = nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.projection = nn.Linear(channels, channels)
        self.norm_2 = nn.LayerNorm(channels)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        future = torch.full((context, context), -math.inf).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x):  # (B, T, C)
        B, T, C = x.shape
        # (B, H, T, C/H) each
        q, k, v = (part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm_1(x)).split(C, dim=2))
        if self.attention == "sdpa":
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) * (C // self.heads) ** -0.5 + self.future[:T, :T]
            mixed = scores.softmax(dim=3) @ v
        x = x + self.projection(mixed.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, heads, channels, context, vocab, attention):
        super().__init__()
        self.tokens = nn.Embedding(vocab, channels)
        self.positions = nn.Embedding(context, channels)
        self.blocks = nn.ModuleList(
            Block(channels, heads, context, attention) for _ in range(layers))
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, vocab, bias=False)  # not tied

    def forward(self, tokens, targets):  # (B, T) each
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class MasterWeights:
    """AdamW on an fp32 copy of 16-bit parameters: converts gradients to fp32, updates, converts
    back; with fp32 parameters just AdamW."""

    def __init__(self, parameters, make_optimizer):
        self.parameters = list(parameters)
        self.copies = self.parameters
        if self.parameters[0].dtype != torch.float32:
            self.copies = [nn.Parameter(p.detach().float()) for p in self.parameters]
        self.optimizer = make_optimizer(self.copies)

    def step(self):
        if self.copies is self.parameters:
            self.optimizer.step()
            return
        for copy, parameter in zip(self.copies, self.parameters):
            copy.grad = parameter.grad.float()
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(self.parameters, self.copies)
        for copy in self.copies:
            copy.grad = None

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None


def random_tokens(options, shape, generator):
    if options.device == "cpu":
        return torch.randint(min(options.vocab, 256), shape, generator=generator)
    # About the frequencies of words: the k-th most frequent token is 1/k times as likely as the
    # first.
    exponents = torch.rand(shape, generator=generator) * math.log(options.vocab + 1)
    return (exponents.exp().long() - 1).clamp(0, options.vocab - 1).to(options.device)


def wait(options):
    if options.device != "cpu":
        torch.cuda.synchronize()


def train(rank, options, rendezvous):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[options.dtype]
    # Made where it stays: initial values from the CPU would take seconds.
    with contextlib.nullcontext() if options.device == "cpu" else torch.device(options.device):
        model = Gpt(options.layers, options.heads, options.channels, options.context,
                    options.vocab, options.attention).to(dtype)
    if options.processes > 1:
        dist.init_process_group("gloo", init_method=rendezvous, rank=rank,
                                world_size=options.processes)
        model = nn.parallel.DistributedDataParallel(model)
    settings = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
    if options.zero:
        from torch.distributed.optim import ZeroRedundancyOptimizer
        optimizer = MasterWeights(model.parameters(), lambda parameters: ZeroRedundancyOptimizer(
            parameters, torch.optim.AdamW, **settings))
    else:
        optimizer = MasterWeights(model.parameters(),
                                  lambda parameters: torch.optim.AdamW(parameters, **settings))

    generator = torch.Generator().manual_seed(rank)
    shape = (options.batch // options.processes, options.context)
    iterations = []
    for _ in range(options.iterations):
        tokens = random_tokens(options, shape, generator)
        if options.processes > 1:
            dist.barrier()
        wait(options)
        began = time.perf_counter()
        loss = model(tokens, tokens.roll(-1, 1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        wait(options)
        iterations.append({"seconds": time.perf_counter() - began})
    if rank == 0:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"iterations": iterations, "torch": torch.__version__}, file)
    if options.processes > 1:
        dist.barrier()  # who leaves early takes gloo's connections with it
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("layers", "heads", "channels", "context", "vocab", "batch", "iterations"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--zero", action="store_true", help="ZeroRedundancyOptimizer")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--attention", default="plain", choices=("plain", "sdpa"),
                        help="in parts, or PyTorch's scaled_dot_product_attention")
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    if options.processes == 1:
        train(0, options, None)
        return
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(train, (options, f"file://{folder}/rendezvous"), options.processes)


if __name__ == "__main__":
    main()
