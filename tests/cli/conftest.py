"""What a refused command prints."""

from collections.abc import Callable

import pytest

from sosdp.cli import main


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a refused command: exit code 2, nothing on standard output, and one line, which is returned."""

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        shown = capsys.readouterr()
        assert shown.out == "" and len(shown.err.splitlines()) == 1
        return shown.err

    return run
