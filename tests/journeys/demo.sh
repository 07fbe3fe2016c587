# I installed the wheel, what now? No GPU is needed.
ncu-assist demo
cd ncu-assist-demo
ncu-assist history softmax
