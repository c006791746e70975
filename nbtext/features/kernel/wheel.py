"""The name of a wheel: a wheel without the kernel is marked as independent of the platform."""

from __future__ import annotations

from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """Names the wheel after the build: without a C compiler, it is `py3-none-any`."""

    def run(self) -> None:
        self.run_command("build")
        compiled = self.get_finalized_command("build_ext").get_outputs()
        if not any(Path(name).exists() for name in compiled):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()
