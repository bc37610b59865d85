"""The command line: parse, call the pipeline, print, exit. One module per command."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from gpugen.cli.streams import StreamError
from gpugen.errors import ExitCode, GpugenError

COMMANDS = {
    "init": "Write a starter repository: a spec, editor, pre-commit and CI files.",
    "validate": "Validate specs: schema, then all semantic checks.",
    "render": "Render specs into out/, or compare them with it.",
    "explain": "Explain a finding, a field of the spec, or where a value comes from.",
    "catalog": "Look up GPU models, drivers, systems, distributions and releases.",
    "mig": "Check, list and solve MIG layouts.",
    "simulate": (
        "Print a cluster's nodes as simulated nodes (KWOK), to try workloads without GPUs."
    ),
    "schema": "Print or write the JSON Schema for editors.",
    "completion": "Print the completion script of a shell.",
}


class _Commands(click.Group):
    """Subcommands that are imported only when called; ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"gpugen.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from error


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from gpugen import __version__

        click.echo(f"gpugen {__version__}")
        ctx.exit()


@click.group(
    "gpugen",
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with 'gpugen init', then edit, 'gpugen validate', 'gpugen render', git commit.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
def main() -> None:
    """Render one GPU spec per cluster into Ansible for hosts and Kustomize for Kubernetes."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; nothing escapes but a second interrupt."""
    try:
        return _run(arguments)
    except (GpugenError, OSError):  # not even the message could be written
        return ExitCode.ENVIRONMENT


def _run(arguments: list[str]) -> int:
    try:
        result: Any = main.main(arguments, prog_name="gpugen", standalone_mode=False)
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except GpugenError as error:
        return _report(error)
    except KeyboardInterrupt:
        click.echo("interrupted; no partially written files remain", err=True)
        return ExitCode.INTERRUPTED
    except OSError as error:
        return _report(_of_system(error))
    except MemoryError:
        return _report(GpugenError("out of memory"))
    except Exception as error:  # noqa: BLE001 - the boundary: a bug is not a user's error
        return _report_bug(error)
    return result if isinstance(result, int) else ExitCode.DONE


def _of_system(error: OSError) -> GpugenError:
    """Return the message of an unexpected OSError, such as a name that is too long."""
    from gpugen.text.spelling import shown

    name = f": {shown(error.filename)}" if isinstance(error.filename, str) else ""
    return GpugenError(f"{error.strerror or type(error).__name__}{name}")


def _show(error: click.ClickException) -> None:
    from io import StringIO

    from gpugen.text.credentials import masked_line

    error.show(file=(said := StringIO()))
    click.echo(masked_line(said.getvalue()), err=True, nl=False)


def _report(error: GpugenError) -> int:
    from gpugen.report import printable
    from gpugen.text.credentials import masked

    if isinstance(error, StreamError) and error.is_quiet:
        return error.exit_code
    click.echo(f"gpugen: {printable(masked(error.message))}", err=True)
    if error.hint:
        click.echo(f"    hint {printable(masked(error.hint))}", err=True)
    return error.exit_code


def _report_bug(error: Exception) -> int:
    """Return where gpugen failed, without any text of the spec."""
    import traceback

    from gpugen import __version__

    frames = traceback.extract_tb(error.__traceback__)[-4:]
    where = " < ".join(
        f"{frame.filename.rpartition('gpugen/')[2]}:{frame.lineno}" for frame in reversed(frames)
    )
    click.echo(
        f"gpugen: this is a bug in gpugen {__version__}: {type(error).__name__} at {where}\n"
        "    hint report it with the command and, if possible, the spec; nothing was written for"
        " this cluster",
        err=True,
    )
    return ExitCode.BUG
