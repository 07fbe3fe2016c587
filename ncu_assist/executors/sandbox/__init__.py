"""Runs untrusted programs where they can hurt nothing, and reads what they leave."""

from __future__ import annotations

from ncu_assist.executors.sandbox.executor import Sandbox as Sandbox
from ncu_assist.executors.sandbox.executor import sandbox_for as sandbox_for
from ncu_assist.executors.sandbox.limits import Limits as Limits
from ncu_assist.executors.sandbox.limits import Overflow as Overflow
from ncu_assist.executors.sandbox.places import Places as Places
from ncu_assist.executors.sandbox.reading import open_regular as open_regular
from ncu_assist.executors.sandbox.reading import read_result as read_result
from ncu_assist.executors.sandbox.runners import available as available
from ncu_assist.executors.sandbox.runners import choose_runner as choose_runner
from ncu_assist.executors.sandbox.tree import remove as remove
