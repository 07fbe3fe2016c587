// What emulation.cpp has for emulation_tensor.cpp.
#pragma once
#include "emulation_warps.h"

constexpr unsigned MOST_WRITTEN = 16;  // bytes, to another block at once

// __syncthreads(), at which the last one that comes does something before all go on.
void meet_after(void (*last)());
