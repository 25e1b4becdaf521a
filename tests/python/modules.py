"""PyTorch modules as people write them, for check_layers: (module, shape of a sample, classes, tokens or None, FLOPs of attention)."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    """Functional forms, as in PyTorch's MNIST example."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5, padding=2), nn.Conv2d(4, 6, 5)
        self.fc1, self.fc2 = nn.Linear(6 * 5 * 5, 20), nn.Linear(20, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), (2, 2))
        x = x.view(x.size(0), -1)
        x = F.dropout(F.relu(self.fc1(x)), p=0.0, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


class BasicBlock(nn.Module):
    """Torchvision's: one ReLU in place for both sums."""

    def __init__(self, given, made, stride=1, groups=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(given, made, 3, stride, 1, groups=groups, bias=False), nn.BatchNorm2d(made)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made)
        self.downsample = None
        if stride != 1 or given != made:
            self.downsample = nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, groups=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 16, 2, groups))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16, 10)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer1(x)), 1))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2, 2), nn.Conv2d(6, 8, 3, padding="same"),
                                      nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(kernel_size=2, stride=2, ceil_mode=True))
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Linear(32, 12), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(12, 5))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class Dense(nn.Module):
    """Growing concatenation, as in DenseNet."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(4 + 3 * i) for i in range(3)])
        self.convs = nn.ModuleList([nn.Conv2d(4 + 3 * i, 3, 3, padding=1, bias=False) for i in range(3)])
        self.fc = nn.Linear(13, 4)

    def forward(self, x):
        parts = [self.stem(x)]
        for norm, conv in zip(self.norms, self.convs):
            parts.append(conv(F.relu(norm(torch.cat(parts, 1)))))
        x = F.avg_pool2d(torch.cat(parts, dim=1), 2)
        return self.fc(x.mean([2, 3]))


class Mobile(nn.Module):
    """An inverted residual with a depthwise convolution, as in MobileNetV2, with ReLU."""

    def __init__(self):
        super().__init__()
        def step(given, made, window, groups=1, last=False):
            layers = [nn.Conv2d(given, made, window, padding=window // 2, groups=groups, bias=False), nn.BatchNorm2d(made)]
            return layers if last else layers + [nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*step(3, 4, 3))
        self.block = nn.Sequential(*step(4, 12, 1), *step(12, 12, 3, 12), *step(12, 4, 1, last=True))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.block(x)
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(2, 3, 1)
        self.two = nn.Sequential(nn.Conv2d(2, 2, (1, 3), padding=(0, 1)), nn.Conv2d(2, 3, (3, 1), padding=(1, 0)))
        self.pooled = nn.Conv2d(2, 2, 1)
        self.norm, self.fc = nn.BatchNorm1d(8 * 9), nn.Linear(8 * 9, 4)

    def forward(self, x):
        x = torch.cat((self.one(x), self.two(x), self.pooled(F.avg_pool2d(x, 3, stride=1, padding=1))), 1)
        x = F.max_pool2d(x, 3, 3).reshape(-1, 8 * 9)
        return self.fc(F.silu(self.norm(x)))


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.convs = nn.ModuleList([nn.Conv1d(6, 4, window, padding=window // 2) for window in (1, 3, 5)])
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        x = self.embed(x).transpose(1, 2)
        return self.fc(torch.cat([F.adaptive_max_pool1d(torch.tanh(conv(x)), 1).squeeze(2) for conv in self.convs], 1))


class Flat(nn.Module):
    """All places of a sequence side by side, in PyTorch's order: a network of Bengio et al. (2003)."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.hidden, self.out = nn.Embedding(20, 5), nn.LayerNorm(40), nn.Linear(40, 7), nn.Linear(7, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(self.norm(self.embed(x).view(x.shape[0], -1)))))


class Gelu(nn.Module):
    """By hand, as in minGPT."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class RmsNorm(nn.Module):
    """By hand, as in Llama."""

    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class LayerNorm(nn.Module):
    """By hand, as in nanoGPT."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalAttention(nn.Module):
    """By hand, as in nanoGPT."""

    def __init__(self, width, heads, places):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.0), nn.Dropout(0.0)
        self.n_head, self.n_embd = heads, width
        self.register_buffer("bias", torch.tril(torch.ones(places, places)).view(1, 1, places, places))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k, q, v = (each.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for each in (k, q, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class PatchAttention(nn.Module):
    """By hand, as in timm's ViT; `mixed`: queries, keys and values of a head lie side by side, as in GPT-NeoX."""

    def __init__(self, width, heads, mixed=False):
        super().__init__()
        self.qkv, self.proj, self.heads, self.mixed = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, mixed

    def forward(self, x):
        B, N, C = x.shape
        if self.mixed:
            q, k, v = self.qkv(x).view(B, N, self.heads, 3 * C // self.heads).transpose(1, 2).chunk(3, -1)
        else:
            q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        q = q * (C // self.heads) ** -0.5
        x = (q @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class GroupedAttention(nn.Module):
    """Heads of keys and values that several heads of queries share, as in Llama."""

    def __init__(self, width, heads, shared):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), *(nn.Linear(width, width // heads * shared) for _ in "kv")
        self.o, self.heads, self.shared = nn.Linear(width, width), heads, shared

    def forward(self, x):
        B, T, C = x.shape
        q = self.q(x).view(B, T, self.heads, -1).transpose(1, 2)
        k, v = (each.view(B, T, self.shared, -1).transpose(1, 2).repeat_interleave(self.heads // self.shared, 1) for each in (
            self.k(x), self.v(x)))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(C // self.heads) + torch.full((T, T), float("-inf")).triu(1)
        return self.o(torch.matmul(F.softmax(scores, dim=-1), v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, attention, norm=LayerNorm, act=nn.GELU):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = norm(width), attention, norm(width)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(width, 2 * width), c_proj=nn.Linear(2 * width, width), act=act()))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.c_proj(self.mlp.act(self.mlp.c_fc(self.ln_2(x))))


class Gpt(nn.Module):
    """nanoGPT's, which says a class for the whole text instead of the next token; `every`: the next token of every place."""

    def __init__(self, blocks, width=8, places=6, classes=3, every=False):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(wte=nn.Embedding(20, width), wpe=nn.Embedding(places, width), drop=nn.Dropout(0.0),
                                              h=nn.ModuleList(blocks), ln_f=nn.LayerNorm(width)))
        self.head, self.places, self.every = nn.Linear(width, classes, bias=not every), places, every
        if every:
            self.transformer.wte.weight = self.head.weight

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.places, f"a text of {t} tokens is too long"
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        logits = self.head(x if self.every else x.mean(1))
        return logits, None if targets is None else F.cross_entropy(logits, targets)


class Scores(nn.Module):
    """The scores of a Gpt alone."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(2, 8, 4, 4)
        self.cls_token, self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 1, 8)), nn.Parameter(0.02 * torch.randn(1, 10, 8))
        self.blocks = nn.Sequential(Block(8, PatchAttention(8, 2), nn.LayerNorm), Block(8, PatchAttention(8, 2, True), nn.LayerNorm))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class Encoder(nn.Module):
    """PyTorch's own layers, which have the places first."""

    def __init__(self):
        super().__init__()
        self.embed, self.pos = nn.Embedding(20, 8), nn.Parameter(0.1 * torch.randn(6, 8))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2, enable_nested_tensor=False)
        self.attention = nn.MultiheadAttention(8, 4)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = self.encoder((self.embed(x) + self.pos).transpose(0, 1))
        y, _ = self.attention(x, x, x, need_weights=False, attn_mask=torch.ones(6, 6, dtype=torch.bool).triu(1))
        return self.fc((x + y)[0])


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.dw, self.norm = nn.Conv2d(2, 4, 2, 2), nn.Conv2d(4, 4, 5, padding=2, groups=4), nn.LayerNorm(4)
        self.wide, self.narrow, self.head = nn.Linear(4, 16), nn.Linear(16, 4), nn.Linear(4, 3)

    def forward(self, x):
        x = self.stem(x)
        y = self.narrow(F.gelu(self.wide(self.norm(self.dw(x).permute(0, 2, 3, 1)))))
        return self.head((x + y.permute(0, 3, 1, 2)).mean((-2, -1)))


def attention_flops(places, width, shared=1.0, projections=True):
    """Scores and context, 2 · 2 · places² · width; and with them, of nn.MultiheadAttention, both projections."""
    return 4 * places * places * width + (2 * places * width * (width + 2 * width * shared + width) if projections else 0)


CASES = {
    "mlp": lambda: (nn.Sequential(nn.Linear(9, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 3)), (9,), 3,
                    None, 0),
    "lenet": lambda: (LeNet(), (1, 28, 28), 10, None, 0),
    "resnet": lambda: (ResNet(), (3, 32, 32), 10, None, 0),
    "resnext": lambda: (ResNet(groups=4), (3, 24, 24), 10, None, 0),
    "vgg": lambda: (Vgg(), (3, 16, 16), 5, None, 0),
    "densenet": lambda: (Dense(), (2, 8, 8), 4, None, 0),
    "mobilenet": lambda: (Mobile(), (3, 8, 8), 3, None, 0),
    "inception": lambda: (Inception(), (2, 9, 9), 4, None, 0),
    "convnext": lambda: (ConvNext(), (2, 8, 8), 3, None, 0),
    "text_cnn": lambda: (TextCnn(), (7,), 3, 20, 0),
    "flattened_sequence": lambda: (Flat(), (8,), 3, 20, 0),
    "gpt": lambda: (Scores(Gpt([Block(8, CausalAttention(8, 2, 6)) for _ in range(2)])), (6,), 3, 20, 2 * attention_flops(6, 8, 1, False)),
    "llama": lambda: (Scores(Gpt([Block(8, GroupedAttention(8, 4, 2), RmsNorm, Gelu)])), (6,), 3, 20, attention_flops(6, 8, 1, False)),
    "vit": lambda: (Vit(), (2, 12, 12), 4, None, 2 * attention_flops(10, 8, 1, False)),
    "encoder": lambda: (Encoder(), (6,), 3, 20, 3 * attention_flops(6, 8)),
}
