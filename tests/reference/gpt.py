"""GPT-2's shape in PyTorch's own modules, with an untied head: written apart from the C++."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(channels, 3 * channels)
        self.c_proj = nn.Linear(channels, channels)

    def forward(self, x):
        B, T, C = x.shape
        # (B, T, 3C) -> three of (B, H, T, C/H)
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            for part in self.c_attn(x).split(C, dim=2)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(C // self.heads)
        future = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
        att = F.softmax(scores.masked_fill(future, -math.inf), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))


class MLP(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.c_fc = nn.Linear(channels, 4 * channels)
        self.c_proj = nn.Linear(4 * channels, channels)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(channels, eps=1e-5)
        self.attn = Attention(channels, heads)
        self.ln_2 = nn.LayerNorm(channels, eps=1e-5)
        self.mlp = MLP(channels)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """Its parameters, in the order of parameters(), are the flat vector of the C++ model."""

    def __init__(self, layers, heads, channels, context, vocab):
        super().__init__()
        self.wte = nn.Embedding(vocab, channels)
        self.wpe = nn.Embedding(context, channels)
        self.h = nn.ModuleList(Block(channels, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(channels, eps=1e-5)
        self.lm_head = nn.Linear(channels, vocab, bias=False)

    def forward(self, tokens, targets):
        """tokens, targets: (B, T). Returns the mean loss."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
