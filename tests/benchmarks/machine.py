"""On what it was measured: the day, the machine and the versions, with nothing that tells whose
machine it is.
"""

import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from programs import NBTEXT, PEERS

GIBIBYTE = 1 << 30
LIBRARIES = ("numpy", "scipy", "joblib", "scikit-learn")
DEBIAN_PEERS = {"fastText": "fasttext", "coreutils": "coreutils"}
PYTHON_PEERS = {"Vowpal Wabbit": "vowpalwabbit"}


def conditions() -> dict[str, str]:
    """What a reader must know to place the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores used of {os.cpu_count()}, "
        f"{memory / GIBIBYTE:.0f} GiB, {platform.system()} {platform.machine()}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }


def cpu_model() -> str:
    """What the processor calls itself."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.processor()


def versions() -> dict[str, str]:
    """nbtext with its kernel, Python, the libraries and the peers that are installed."""
    own = _output(*NBTEXT, "--version").replace("nbtext ", "").replace("\nkernel: ", ", kernel ")
    found = {"nbtext": own, "Python": ".".join(map(str, sys.version_info[:3]))}
    found |= {name: version(name) for name in LIBRARIES}
    query = ("dpkg-query", "--show", "--showformat=${Version}")
    found |= {name: _output(*query, package) for name, package in DEBIAN_PEERS.items()}
    found |= {name: _beside(package) for name, package in PYTHON_PEERS.items()}
    return {name: number for name, number in found.items() if number}


def _beside(package: str) -> str:
    found = [
        path.name.split("-")[1]
        for path in PEERS.glob(f".venv/lib/python*/site-packages/{package}-*.dist-info")
    ]
    return found[0].removesuffix(".dist") if found else ""


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
