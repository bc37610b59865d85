"""``gpugen completion``."""

from __future__ import annotations

import click

from gpugen.errors import ExitCode


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    For bash: eval "$(gpugen completion bash)" in ~/.bashrc.
    """
    from click.shell_completion import get_completion_class

    from gpugen.cli import main

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "gpugen", "_GPUGEN_COMPLETE").source())
    return ExitCode.DONE
