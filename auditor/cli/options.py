"""How is what a user types read? Options made from the table of a question, and the values that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.request import Listed

_REPORT = "report_of_"  # what the parameter of an option for a report begins with
_SOURCE = 'Where samples come from: "bernoulli(0.5)", module:fn, data.csv#label'


class Count(click.ParamType[int]):
    """A whole number, written 1000, 1_000 or 1e6."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
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


def _count_or_words(value: str) -> int | str:
    """A whole number where it is one, else a text."""
    try:
        return Count().convert(value, None, None)
    except click.BadParameter:
        return value


def option_of(one: Listed) -> click.Option:
    """The option of the command line that a row of the table is; None, or nothing, where it is not given."""
    told = "[default" in one.words or isinstance(one.default, (bool, dict, type(None)))
    words = one.words if told else f"{one.words}  [default: {one.default}]"
    shown: dict[str, Any] = {"help": words, "panel": one.group, "default": None}
    if one.kinds == (bool,):
        return click.RichOption([one.flag, one.name], is_flag=True, **shown)
    kind, many = _TYPES.get(one.kinds, click.STRING), one.name in _SEVERAL
    return click.RichOption([one.flag, one.name], type=kind, multiple=many, metavar=one.metavar, **shown)


_SEVERAL = ("params", "old_param", "range")  # options that can be repeated
_TYPES: Mapping[tuple[Any, ...], Any] = {(int,): Count(), (float,): click.FLOAT, (int, str): _count_or_words}


def source_option(*, many: bool) -> click.Option:
    from auditor.request import WHAT

    words = f"{_SOURCE}; repeated: the worst of them counts." if many else f"{_SOURCE}."
    return click.RichOption(["--source"], multiple=many, metavar="SPEC", help=words, panel=WHAT)


def report_options() -> list[click.Option]:
    from auditor.report.formats import FORMATS

    names = {one: [f"--{one.name}", f"{_REPORT}{one.name.replace('-', '_')}"] for one in FORMATS.values()}
    words = "Name the method of each interval in the report too."
    return [
        *(
            click.RichOption(both, metavar="FILE", help=f"{one.words}; - is standard output.", panel="Reports")
            for one, both in names.items()
        ),
        click.RichOption(["--verbose"], is_flag=True, help=words, panel="Reports"),
    ]


def refuse_empty(command: click.Command) -> click.Command:
    """The command, where an option or argument that is given as '' is a slip, a shell's unset variable say, and not
    taken for one that was left out."""
    for param in command.params:
        param.callback = _not_empty
    return command


def _not_empty(context: click.Context, param: click.Parameter, value: Any) -> Any:
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("'' is empty: give a value, or leave it out", context, param)
    return value


_TWICE = {"view": 'views chain in one, from left to right, e.g. --view "attr(coef_)|nonzero"'}


class TableCommand(click.RichCommand):
    """A command whose options are not looked up before somebody needs them: to list the commands takes no question."""

    def __init__(self, *arguments: Any, options: Callable[[], Iterable[click.Option]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._options: Callable[[], Iterable[click.Option]] | None = options

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if self._options is not None:
            self.params += self._options()
            self._options = None
            refuse_empty(self)
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not any(word.partition("=")[0] in ("-h", "--help", "--replay") for word in args):
            from auditor.trials.second_server import environment_of, start_server

            start_server(environment_of() if self.name == "explain" else {})  # its imports overlap with ours
        typed = [*args]
        rest = super().parse_args(ctx, args)  # which says first what is wrong with a value
        self._refuse_twice(ctx, typed)
        return rest

    def _refuse_twice(self, ctx: click.Context, args: list[str]) -> None:
        """Of two values click takes the last, and whoever typed the first is not told."""
        _, _, typed = self.make_parser(ctx).parse_args(args)
        for one in typed:
            if isinstance(one, click.Option) and typed.count(one) > 1 and not (one.multiple or one.is_flag):
                raise click.UsageError(
                    f"{one.opts[0]} was given twice: {_TWICE.get(one.name or '', 'give it once')}", ctx
                )


class Typed(NamedTuple):
    """What a user typed: `given` holds options of the question alone, and of these what was there."""

    sources: list[str]
    given: dict[str, Any]
    texts: dict[str, str]
    files: dict[str, str]  # by the option that asks for each: {"--json": "record.json"}
    verbose: bool = False


def read_typed(options: Mapping[str, Any]) -> Typed:
    """Tell apart what click has read; files are tried before anything runs."""
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
    )


def split_params(params: Sequence[str], flag: str = "--param") -> dict[str, str]:
    return dict(_split(word, flag) for word in params)


def _split(word: str, flag: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise UsageError(f"{flag} {word} must be NAME=VALUE, e.g. {flag} tau=0.1")
    return name, text


def running_options() -> Iterator[click.Option]:
    """Those that say how to run, and not what to ask."""
    from auditor.request import RUN, Options, listed

    return (option_of(one) for one in listed(Options).values() if one.group == RUN)
