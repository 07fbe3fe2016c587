# My script is slow: profile its launches but for warm-up, then one function of it. Needs torch, ncu and a GPU.
cat > train.py <<'CODE'
def step():
    import torch

    x = torch.ones(1 << 24, device="cuda")
    for _ in range(3):
        x = torch.relu(x + 1)
    torch.cuda.synchronize()


if __name__ == "__main__":
    step()
CODE
ncu-assist profile --skip-launches 1 --max-launches 3 train.py
ncu-assist profile --max-launches 3 train:step
ncu-assist list
ncu-assist show train/v1 --launch 0
