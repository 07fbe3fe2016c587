"""A CUDA graph, for ncu to profile as one (--graph-profiling graph, or as a range: --replay-mode app-range)."""

import torch

x = torch.ones(1 << 20, device="cuda")
for _ in range(3):
    torch.relu(x * 2.0)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.relu(x * 2.0)
torch.cuda.synchronize()
torch.cuda.profiler.start()
torch.cuda.nvtx.range_push("profiled")
graph.replay()
torch.cuda.synchronize()
torch.cuda.nvtx.range_pop()
torch.cuda.profiler.stop()
