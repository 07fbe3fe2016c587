"""Exams whose sides have torch loaded."""

from torch_loaded import nursery as nursery
from torch_loaded import torch_loaded as torch_loaded
