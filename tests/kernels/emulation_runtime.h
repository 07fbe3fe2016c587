// What emulation.cpp has for emulation_tensor.cpp.
#pragma once
#include "emulation_warps.h"

// __syncthreads(), at which the last one that comes does something before all go on.
void meet_after(void (*last)());
