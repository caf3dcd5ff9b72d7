"""A group of commands: what its help lists, and what it says to a name that is none."""

import click

_WHOLE = 1_000  # characters: more than any first sentence has


class Group(click.Group):
    """A group that lists the whole first sentence of each command, and guesses at wrong names."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Wrap what does not fit on a line; click itself would cut it off."""
        listed = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in listed if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Guess from the names that are listed; click itself knows only what was imported."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(args[0], possibilities=names, ctx=ctx) from error
