"""Runs untrusted programs where they can hurt nothing, and reads what they leave."""

from __future__ import annotations

from ncu_assist.executors.sandbox.executor import Sandbox as Sandbox
from ncu_assist.executors.sandbox.executor import sandbox_for as sandbox_for
from ncu_assist.executors.sandbox.folders import open_regular as open_regular
from ncu_assist.executors.sandbox.folders import read_result as read_result
from ncu_assist.executors.sandbox.folders import remove as remove
from ncu_assist.executors.sandbox.plan import FolderAccess as FolderAccess
from ncu_assist.executors.sandbox.plan import LimitExceeded as LimitExceeded
from ncu_assist.executors.sandbox.plan import SandboxLimits as SandboxLimits
from ncu_assist.executors.sandbox.runners import available as available
from ncu_assist.executors.sandbox.runners import choose_runner as choose_runner
