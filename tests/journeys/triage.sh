# My training step is slow: which kernel is it, and what does it cost the whole? Needs torch, ncu and a GPU.
cat > train.py <<'CODE'
import torch

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    x = torch.randn(2048, 1024).cuda()
    loss = torch.nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
CODE
ncu-assist triage train.py
ncu-assist triage --profile-top 2 --output triage.html train.py
ncu-assist list
ncu-assist triage "$(find .ncu-assist/triage -name train.json | sort | tail -1)" --json > triage.json
