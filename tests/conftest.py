"""Tests mean the same on every machine: a slow one, one that begins them in the background, ..."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# A machine that stalls for a moment is no fault.
settings.register_profile("anywhere", deadline=None)
settings.load_profile("anywhere")

# Begun by `command &`, this process and all that it starts would never hear of Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a user may have set for the command must not reach the tests of it.
unwanted = ["FORCE_COLOR", "BISON_OCL_CACHE", "MLFLOW_TRACKING_URI"]
if "BISON_OCL_EQUALITY" not in os.environ:  # that record says of which commit it is
    unwanted.append("BISON_OCL_COMMIT")
for name in unwanted:
    os.environ.pop(name, None)
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"
