"""Compares a safetensors file with the parameters that --dump-state wrote.

    read_safetensors.py FILE FOLDER

Exits with 0 when the file holds every tensor of the state, under its name, in GPT-2's orientation
(a linear layer's weight is (in, out), but lm_head's is not), with the same bits and nothing else.
Needs Python's standard library only. With --torch, PyTorch reads the file's tensors too.
"""
import json
import os
import struct
import sys

WIDTH = {"F32": 4, "F16": 2, "BF16": 2}
NAME = {"F32": "fp32", "F16": "fp16", "BF16": "bf16"}


def read(path):
    """{name: (dtype, shape, bytes)}, with every rule of the format checked."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    if (8 + length) % 8 != 0:
        raise SystemExit("the data is not aligned to 8 bytes")
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    if not all(isinstance(value, str) for value in header.pop("__metadata__", {}).values()):
        raise SystemExit("metadata must be text")
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, next_end = entry["data_offsets"]
        size = WIDTH[entry["dtype"]]
        for extent in entry["shape"]:
            size *= extent
        if begin != end or next_end - begin != size:
            raise SystemExit(f"{name}: hole, overlap or wrong size")
        end = next_end
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:next_end])
    if end != len(data):
        raise SystemExit("bytes behind the last tensor")
    return tensors


def parameters(folder):
    """The index and the flat vector's bytes, from whichever ranks hold them."""
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    width = 4 if index["dtype"] == "fp32" else 2
    flat = bytearray(width * index["num_parameters"])
    for rank in index["ranks"]:
        for entry in rank["arrays"]:
            if entry["state"] == "parameters":
                with open(os.path.join(folder, entry["file"]), "rb") as file:
                    part = file.read()
                begin = entry["begin"] * width
                flat[begin : begin + len(part)] = part
    return index, bytes(flat[: width * index["num_parameters"]]), width


def is_transposed(name):
    """GPT-2's Conv1D layers keep (in, out)."""
    return name.endswith(
        ("c_attn.weight", "attn.c_proj.weight", "c_fc.weight", "mlp.c_proj.weight")
    )


def transpose(data, rows, columns, width):
    result = bytearray(len(data))
    for row in range(rows):
        for column in range(columns):
            source, target = (row * columns + column) * width, (column * rows + row) * width
            result[target : target + width] = data[source : source + width]
    return bytes(result)


def compare(path, folder):
    tensors = read(path)
    index, flat, width = parameters(folder)
    if set(tensors) != {tensor["name"] for tensor in index["tensors"]}:
        raise SystemExit("other names than in the state")
    for tensor in index["tensors"]:
        name, shape = tensor["name"], tensor["shape"]
        dtype, file_shape, data = tensors[name]
        expected = flat[tensor["begin"] * width : tensor["end"] * width]
        if is_transposed(name):
            expected = transpose(expected, shape[0], shape[1], width)
            shape = shape[::-1]
        if NAME[dtype] != index["dtype"] or file_shape != shape or data != expected:
            raise SystemExit(f"{name}: differs")
    print(f"{len(tensors)} tensors")
    return tensors


def read_with_torch(tensors):
    import torch

    types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    for name, (dtype, shape, data) in tensors.items():
        tensor = torch.frombuffer(bytearray(data), dtype=types[dtype]).reshape(shape)
        if not torch.isfinite(tensor.float()).all():
            raise SystemExit(f"{name}: not finite")
    print("torch reads them")


if __name__ == "__main__":
    compared = compare(sys.argv[1], sys.argv[2])
    if "--torch" in sys.argv:
        read_with_torch(compared)
