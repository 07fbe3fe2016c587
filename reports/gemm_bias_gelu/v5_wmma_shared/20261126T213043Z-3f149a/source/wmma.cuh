// Tensor cores through nvcuda::wmma, for compute capability 8.0 and above.
#pragma once
#include <mma.h>

namespace wmma = nvcuda::wmma;
