"""What is wrong with a kernel, from its counters: one module a rule, each with its own documentation."""

from __future__ import annotations

from ncu_assist.rules import (
    at_compute_roofline,
    at_dram_roofline,
    atomic_contention,
    barrier_stall,
    constant_divergence,
    debug_build,
    grid_underfill,
    host_link_bound,
    l1_bound,
    l2_bound,
    launch_bound,
    local_array,
    low_bytes_in_flight,
    low_occupancy,
    near_ceiling,
    no_tensor_core,
    pipe_bound,
    redundant_traffic,
    register_spill,
    shared_bank_conflict,
    tail_effect,
    tensor_underfed,
    uncoalesced_global_load,
    uncoalesced_global_store,
    unexplained,
    warp_divergence,
    workload_imbalance,
)
from ncu_assist.rules.base import Finding, Rule, Severity, severity
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked, Unanswered, diagnose
from ncu_assist.rules.model.facts import Facts

# By name, but for the last two, which speak of what no other explains.
RULES: dict[str, Rule] = {
    at_compute_roofline.ID: at_compute_roofline,
    at_dram_roofline.ID: at_dram_roofline,
    atomic_contention.ID: atomic_contention,
    barrier_stall.ID: barrier_stall,
    constant_divergence.ID: constant_divergence,
    debug_build.ID: debug_build,
    grid_underfill.ID: grid_underfill,
    host_link_bound.ID: host_link_bound,
    l1_bound.ID: l1_bound,
    l2_bound.ID: l2_bound,
    launch_bound.ID: launch_bound,
    local_array.ID: local_array,
    low_bytes_in_flight.ID: low_bytes_in_flight,
    low_occupancy.ID: low_occupancy,
    no_tensor_core.ID: no_tensor_core,
    pipe_bound.ID: pipe_bound,
    redundant_traffic.ID: redundant_traffic,
    register_spill.ID: register_spill,
    shared_bank_conflict.ID: shared_bank_conflict,
    tail_effect.ID: tail_effect,
    tensor_underfed.ID: tensor_underfed,
    uncoalesced_global_load.ID: uncoalesced_global_load,
    uncoalesced_global_store.ID: uncoalesced_global_store,
    warp_divergence.ID: warp_divergence,
    workload_imbalance.ID: workload_imbalance,
    near_ceiling.ID: near_ceiling,
    unexplained.ID: unexplained,
}

# Rules that name one loss by the cause that shows most: when one is gone and another of its row has come, the time is
# still lost on the same resource.
ON_ONE_RESOURCE = (
    frozenset((low_occupancy.ID, low_bytes_in_flight.ID)),  # too little in flight
    frozenset((grid_underfill.ID, tail_effect.ID, workload_imbalance.ID)),  # multiprocessors without work
    frozenset((uncoalesced_global_load.ID, uncoalesced_global_store.ID, l2_bound.ID)),  # sectors in L2
    frozenset((shared_bank_conflict.ID, l1_bound.ID)),  # the data pipe of L1
    frozenset((no_tensor_core.ID, tensor_underfed.ID)),  # tensor cores
    frozenset((register_spill.ID, local_array.ID)),  # local memory
)

__all__ = [
    "ON_ONE_RESOURCE",
    "RULES",
    "Diagnosis",
    "Facts",
    "Finding",
    "Ranked",
    "Rule",
    "Severity",
    "Unanswered",
    "diagnose",
    "severity",
]
