"""Library kernels of a PyTorch program: cuBLAS, cuDNN, a sort, and a replayed CUDA graph."""

import torch

torch.manual_seed(0)
a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
image = torch.randn(2, 16, 32, 32, device="cuda")
weight = torch.randn(16, 16, 3, 3, device="cuda")
keys = torch.rand(100_000, device="cuda")
static = torch.ones(4096, device="cuda")


def step() -> torch.Tensor:
    return torch.relu(static * 2.0)


for _ in range(3):  # libraries choose their algorithms and allocate outside the profiled range
    torch.mm(a, a), torch.nn.functional.conv2d(image, weight), torch.sort(keys), step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
torch.cuda.synchronize()

torch.cuda.nvtx.range_push("profiled")
for name, call in {
    "cublas": lambda: torch.mm(a, a),
    "cudnn": lambda: torch.nn.functional.conv2d(image, weight),
    "sort": lambda: torch.sort(keys),
    "graph": graph.replay,
}.items():
    torch.cuda.nvtx.range_push(name)
    call()
    torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
