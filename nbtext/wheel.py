"""How a wheel is built: its name, and the demo corpus that it holds."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

DEMO_CORPUS = Path("corpora", "letters")


class Package(build_py):
    """Adds the corpus that `nbtext demo` writes."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copytree(DEMO_CORPUS, Path(self.build_lib, "nbtext", "demo"), dirs_exist_ok=True)

    def get_source_files(self) -> list[str]:
        """Return the files of the source archive."""
        return [*super().get_source_files(), *map(str, sorted(DEMO_CORPUS.rglob("*.txt")))]  # type: ignore[no-untyped-call]


class Wheel(bdist_wheel):
    """Names the wheel after the build: without the kernel, it is `py3-none-any`."""

    def run(self) -> None:
        self.run_command("build")
        if not any(
            Path(name).exists() for name in self.get_finalized_command("build_ext").get_outputs()
        ):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()
