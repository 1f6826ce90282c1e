"""How is what a user types read? Options made from the table of a question, and the values that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.request import Listed

WORDS = "auditor.words"  # where a context keeps the words of the command line
_REPORT = "report_of_"  # what the parameter of an option for a report begins with
_BASICS = 16  # options that --help shows at most
_ALL = "auditor.help_all"  # in the context's `meta`, where --help-all was asked for
_NARROW = 64  # columns below which the text of an option stands below its name
REPORTS, HELP = "Reports", "Help"
_INSTEAD = {"view": 'views chain in one, from left to right, e.g. --view "attr(coef_)|nonzero"'}


class Count(click.ParamType[int]):
    """A whole number, written 1000, 1_000 or 1e6."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a typed number such as 1e6 or 1000 as an integer; a usage error if it is none."""
        from decimal import Decimal, InvalidOperation  # 1e23 as it is written, not as a float has it

        try:
            number = Decimal(value)
            if number == number.to_integral_value():
                if number.adjusted() >= 30:
                    return self.fail(f"{value!r} is beyond 1e30: use a smaller number", param, ctx)
                return int(number)
        except (InvalidOperation, ValueError, OverflowError):
            pass
        return self.fail(f"{value!r} must be a whole number, e.g. 1000 or 1e6", param, ctx)


def _count_or_text(value: str) -> int | str:
    """Return a whole number where the text is one, else the text."""
    try:
        return Count().convert(value, None, None)
    except click.BadParameter:
        return value


_TYPES: Mapping[tuple[Any, ...], Any] = {(int,): Count(), (float,): click.FLOAT, (int, str): _count_or_text}


class OptionGivenOnce(click.RichOption):
    """An option that may be given once, unless it is `multiple` or a flag. `--help` shows it if it is `basic`.

    Of two values click takes the last, and whoever typed the first is not told. So the parser collects all of them,
    and more than one is refused.
    """

    def __init__(self, *arguments: Any, basic: bool = True, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.basic = basic

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Have click collect all values that were typed, so that a second one is noticed."""
        if self.multiple or self.is_flag:
            super().add_to_parser(parser, ctx)
        else:
            parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=self.nargs)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """Return the one value that was typed; a usage error if there are two."""
        name = self.name or ""
        given = opts.get(name)
        if isinstance(given, list) and not self.multiple:
            if len(given) > 1:
                raise click.UsageError(f"{self.opts[0]} was given twice: {_INSTEAD.get(name, 'give it once')}", ctx)
            opts = {**opts, name: given[0]}
        return super().consume_value(ctx, opts)


def option_of(one: Listed, *, hidden: bool = False) -> click.Option:
    """Return the command line's option for a row of the table; it is None, or (), where it is not given."""
    shown: dict[str, Any] = {"help": one.words, "panel": one.group, "basic": one.basic, "hidden": hidden}
    shown["default"] = None
    if one.kinds == (bool,):
        return OptionGivenOnce([one.flag, one.name], is_flag=True, **shown)
    kind = _TYPES.get(one.kinds, click.STRING)
    return OptionGivenOnce([one.flag, one.name], type=kind, multiple=one.several, metavar=one.metavar, **shown)


def source_option(*, many: bool, several: bool) -> click.Option:
    """Return --source; `many` lets it be typed several times, and `several` says so in the help."""
    from auditor.request import WHAT

    words = 'Where samples come from: "bernoulli(0.5)", module:fn, data.csv#label (default: what the subject declares).'
    words += " If it is given several times, the worst source counts." if several else ""
    return OptionGivenOnce(["--source"], multiple=many, metavar="SPEC", help=words, panel=WHAT)


def running_options() -> Iterator[click.Option]:
    """Yield the options that say how to run, and not what to ask."""
    from auditor.request import RUN, Options, listed

    return (option_of(one) for one in listed(Options).values() if one.group == RUN)


def report_options() -> Iterator[click.Option]:
    """Yield an option for each file that a report can be written to, and --verbose."""
    from auditor.report.formats import FORMATS

    for one in FORMATS.values():
        names = [f"--{one.name}", f"{_REPORT}{one.name.replace('-', '_')}"]
        words, basic = f"{one.words} to FILE; - is standard output.", one.name in ("json", "html")
        yield OptionGivenOnce(names, metavar="FILE", help=words, panel=REPORTS, basic=basic)
    yield OptionGivenOnce(
        ["--verbose"],
        is_flag=True,
        help="Show all that is known: sample, intervals, cost.",
        panel=REPORTS,
        basic=False,
    )


def refuse_empty(command: click.Command) -> click.Command:
    """Let a command refuse ''. It is a slip, a shell's unset variable say, and not the same as leaving it out."""

    def not_empty(context: click.Context, param: click.Parameter, value: Any) -> Any:
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise click.BadParameter("'' is empty: give a value, or leave it out", context, param)
        return value

    for param in command.params:
        param.callback = not_empty
    return command


class TableCommand(click.RichCommand):
    """A command whose options are looked up when somebody needs them, so that to list commands loads no question."""

    def __init__(self, *arguments: Any, options: Callable[[], Iterable[click.Option]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._options: Callable[[], Iterable[click.Option]] | None = options

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; those of the question's table are made when they are first asked for."""
        if self._options is not None:
            self.params += self._options()
            self._options = None
            refuse_empty(self)
            self.params.append(self._help_all())
        params = super().get_params(ctx)
        for one in params:
            if isinstance(one, click.RichOption) and one.panel is None:  # click's own --help
                one.panel = HELP
        return params

    def _help_all(self) -> click.Option:
        """Return the option that shows all others."""

        def show(context: click.Context, param: click.Parameter, value: bool) -> None:
            if value and not context.resilient_parsing:
                context.meta[_ALL] = True
                print(context.get_help())
                context.exit()

        words = f"Show all {len(self._shown())} options and exit."
        return OptionGivenOnce(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show, help=words, panel=HELP
        )

    def _shown(self) -> list[OptionGivenOnce]:
        """Return the options that --help-all shows, besides those for help."""
        return [one for one in self.params if isinstance(one, OptionGivenOnce) and not one.hidden and one.panel != HELP]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings: all of them, or those that most people need.

        An option is hidden for as long as this takes and no longer, since shells do not complete hidden ones.
        """
        assert isinstance(ctx, click.RichContext)
        assert isinstance(formatter, click.RichHelpFormatter)
        shown = self._shown()
        every = ctx.meta.get(_ALL) or len(shown) + 2 <= _BASICS
        left_out = [] if every else [one for one in shown if not one.basic]
        for one in left_out:
            one.hidden = True
        try:
            if formatter.console.width < _NARROW:
                self._format_narrowly(ctx, formatter)
            else:
                super().format_options(ctx, formatter)
        finally:
            for one in left_out:
                one.hidden = False

    def _format_narrowly(self, ctx: click.Context, formatter: click.RichHelpFormatter) -> None:
        """Write the text of each option below its name: beside it there would be room for a word or two."""
        from rich.padding import Padding
        from rich.text import Text

        shown = [one for one in self.get_params(ctx) if isinstance(one, click.RichOption) and not one.hidden]
        for heading in dict.fromkeys(str(one.panel) for one in shown):
            formatter.write(Text(f" {heading}", "bold"))
            for one in (one for one in shown if str(one.panel) == heading):
                name = f"{', '.join(one.opts)} {'' if one.is_flag else one.make_metavar(ctx)}"
                formatter.write(Padding.indent(Text(name, formatter.config.style_option), 3))
                formatter.write(Padding.indent(Text(one.help or ""), 6))
            formatter.write(Text())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Start the hosts that the command will need, so that their imports overlap with ours, then parse."""
        words = {word.partition("=")[0] for word in args}
        if words.isdisjoint(("-h", "--help", "--help-all")):
            from auditor.host.server import AS_HERE, can_fork, other_hash_seed, start_early, surroundings

            if not can_fork():  # so that its imports overlap with ours
                start_early(AS_HERE)
            if "--replay" not in words:
                start_early(surroundings(0, 1) if self.name == "explain" else other_hash_seed())
        return super().parse_args(ctx, args)


class Typed(NamedTuple):
    """What a user typed: `given` holds those options of the question that were typed, and nothing else."""

    sources: list[str]
    given: dict[str, Any]
    texts: dict[str, str]  # parameters of the subject, as they were typed
    files: dict[str, str]  # by the option that asks for each: {"--json": "record.json"}
    verbose: bool = False
    words: tuple[str, ...] = ()  # of the command line, all of them


def read_typed(options: Mapping[str, Any]) -> Typed:
    """Return what was typed, sorted into sources, options, parameters and report files, after checking that the files
    can be written."""
    from auditor.cli.output import check_files

    sources = options.get("source") or ()
    there = {name: value for name, value in options.items() if value not in (None, ())}
    files = {name: file for name, file in there.items() if name.startswith(_REPORT)}
    own = ("source", "params", "verbose", *files)
    return Typed(
        [sources] if isinstance(sources, str) else [*sources],
        {name: value for name, value in there.items() if name not in own},
        split_params(options.get("params") or ()),
        check_files({f"--{name.removeprefix(_REPORT).replace('_', '-')}": file for name, file in files.items()}),
        bool(options.get("verbose")),
        context.meta.get(WORDS, ()) if (context := click.get_current_context(silent=True)) else (),
    )


def split_params(params: Sequence[str], flag: str = "--param") -> dict[str, str]:
    """Return {name: text} from words NAME=VALUE."""
    found: dict[str, str] = {}
    for word in params:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {word} must be NAME=VALUE, e.g. {flag} tau=0.1")
        found[name] = text
    return found
