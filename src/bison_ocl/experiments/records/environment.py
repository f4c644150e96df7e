"""Provenance of a record: versions and machine."""

from __future__ import annotations

import platform

import numpy as np
import torch

from bison_ocl.experiments.records.record import Environment
from bison_ocl.processor import cpu_name
from bison_ocl.version import installed


def environment(device: str) -> Environment:
    """Software and hardware of this process."""
    cuda = torch.device(device).type == "cuda"
    return Environment(
        device=torch.cuda.get_device_name(device) if cuda else cpu_name(),
        device_type=torch.device(device).type,
        threads=torch.get_num_threads(),
        bison_ocl=installed(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        numpy=np.__version__,
        platform=f"{platform.system()} {platform.machine()}",
    )
