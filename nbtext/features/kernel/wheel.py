"""How a wheel is named: one without the kernel fits every machine, and says so."""

from __future__ import annotations

from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """A wheel of what was really built: where there was no C compiler it is pure, `py3-none-any`."""

    def run(self) -> None:
        self.run_command("build")
        compiled = self.get_finalized_command("build_ext").get_outputs()
        if not any(Path(name).exists() for name in compiled):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()
