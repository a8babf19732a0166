"""The one step of the build that pyproject.toml cannot state: the proof pages go into the package."""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py


class WithProofs(build_py):
    """Copies docs/proofs into sosdp/proofs of what is built; a working copy reads them where they are."""

    def run(self) -> None:
        """Build the packages, then add the pages."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "sosdp", "proofs")
        target.mkdir(parents=True, exist_ok=True)
        for page in sorted(Path("docs", "proofs").glob("*.md")):
            copyfile(page, target / page.name)


setup(cmdclass={"build_py": WithProofs})
