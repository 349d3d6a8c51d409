"""The commands and their options; the work is done by the modules beside this one."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, cast

import typer

import schemagen
from schemagen.cli.console import busy, render_errors, show_confidence, show_data, show_note, show_text
from schemagen.cli.specs import read_functions, read_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.engine.options import WhitespacePolicy
    from schemagen.options import BatchOptions

app = typer.Typer(
    name="schemagen",
    help="Turn a Python type into a guarantee: constrained decoding to validated instances.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

grammar_app = typer.Typer(help="Look at grammars.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(grammar_app, name="grammar")

SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A Python type as module:Class or FILE.py:Class, a JSON Schema or the path of one, or - for standard input; "
        "the path of a grammar: .gbnf, .ebnf, .lark.",
        show_default=False,
    ),
]


class Picture(str, Enum):
    """The pictures that `schemagen.Grammar.draw` draws."""

    AUTOMATON = "automaton"
    PUSHDOWN = "pushdown"
    RULES = "rules"
    INDEX = "index"
    MASK = "mask"


class LarkParser(str, Enum):
    """The parsers of `schemagen.Lark`."""

    EARLEY = "earley"
    LALR = "lalr"


class LarkLexer(str, Enum):
    """Its lexers."""

    DYNAMIC = "dynamic"
    DYNAMIC_COMPLETE = "dynamic_complete"
    CONTEXTUAL = "contextual"
    BASIC = "basic"


class Whitespace(str, Enum):
    """The policies of `schemagen.compile` by name."""

    FLEXIBLE = "flexible"
    COMPACT = "compact"
    SPACED = "spaced"
    ANY = "any"


class Batching(str, Enum):
    """The argument ``continuous`` of `schemagen.serve.create_app`."""

    AUTO = "auto"
    MICRO = "micro"
    CONTINUOUS = "continuous"


class Format(str, Enum):
    """How a value is written: `schemagen.writers.TextFormat`."""

    JSON = "json"
    PYTHON = "python"
    YAML = "yaml"
    XML = "xml"
    CSV = "csv"
    MARKDOWN = "markdown"


ModelOption = Annotated[
    str | None, typer.Option(help="Name or folder of a transformers model.", show_default="the bundled model")
]
TokenizerOption = Annotated[
    str | None, typer.Option(help="Name or folder of a tokenizer.", show_default="the bundled one")
]
AsOption = Annotated[Format, typer.Option("--as", help="The format of the text.")]
SystemOption = Annotated[
    str | None, typer.Option(help="System message before each prompt that has none.", show_default="none")
]
MaxNewTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Budget of the generation, in tokens.", show_default="the model's own")
]

DraftOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Let the model write a free draft of at most N tokens first.", show_default="none"
    ),
]


ConfidenceOption = Annotated[
    bool, typer.Option("--confidence", help="Say how sure the model is of each field, as a probability.")
]


def print_version(wanted: bool) -> None:
    """Print the version and stop, if the option was given."""
    if wanted:
        show_text(f"schemagen {schemagen.__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Turn a Python type into a guarantee: constrained decoding to validated instances."""


@app.command()
@render_errors()
def demo() -> None:
    """Turn nine sentences into typed instances with the bundled model, offline."""
    from schemagen.cli.demo import run_demo

    if not run_demo():
        raise typer.Exit(1)


@app.command()
@render_errors()
def generate(  # noqa: PLR0913 - every option is a parameter
    spec: SpecArgument,
    prompt: Annotated[str, typer.Argument(help="The text to turn into an instance.", show_default=False)],
    model: ModelOption = None,
    max_new_tokens: MaxNewTokensOption = None,
    as_: AsOption = Format.JSON,
    draft: DraftOption = None,
    confidence: ConfidenceOption = False,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text while it is generated.")] = False,
) -> None:
    """Generate one instance of SPEC from PROMPT and print it, as JSON or in another format."""
    from schemagen.cli.generation import generate_one, stream_one

    target = read_spec(spec)
    options = {
        "as_": None if as_ is Format.JSON else as_.value,
        "max_new_tokens": max_new_tokens,
        "draft": draft,
        "confidence": confidence or None,
    }
    if stream:
        generation = stream_one(target, prompt, model=model, options=options)
    else:
        generation = generate_one(target, prompt, model=model, options=options)
        (show_data if as_ is Format.JSON else show_text)(generation.text)
    if confidence:
        show_confidence(generation)
    show_note(generation)


@app.command()
@render_errors()
def repair(
    spec: SpecArgument,
    text: Annotated[str, typer.Argument(help="The text; - is standard input.", show_default=False)],
    prompt: Annotated[str | None, typer.Option(help="What the text was to answer.", show_default="not known")] = None,
    model: ModelOption = None,
    max_new_tokens: MaxNewTokensOption = None,
) -> None:
    """Turn TEXT, which is nearly an instance of SPEC, into one, and print it as JSON."""
    from schemagen.cli.generation import repair_one

    if spec == text == "-":
        raise typer.BadParameter("standard input cannot be both the spec and the text", param_hint="TEXT")
    content = sys.stdin.read() if text == "-" else text
    show_data(repair_one(read_spec(spec), content, prompt, model=model, options={"max_new_tokens": max_new_tokens}))


@app.command()
@render_errors()
def batch(  # noqa: PLR0913 - every option is a parameter
    spec: SpecArgument,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help='JSON Lines: texts, chats, or objects with "prompt" and perhaps "id"; a table in .csv or .parquet; a folder '
            "of .parquet; - for JSON Lines on standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="File for the rows that come out: .parquet, .csv, JSON Lines otherwise.",
            show_default="standard output",
        ),
    ] = None,
    failures: Annotated[
        Path | None, typer.Option(help="File for the rows without a value, too: JSON Lines.", show_default="none")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Keep the values that the output has of the same SPEC, model and options, and go on."
        ),
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N|auto",
            help="Work on every Nth row from the Ith on; auto: by the rank that torchrun, accelerate or srun gave.",
            show_default="all rows",
        ),
    ] = None,
    prompt_column: Annotated[
        str | None, typer.Option(help="Column or key of the prompts.", show_default="prompt, else messages")
    ] = None,
    id_column: Annotated[str, typer.Option(help="Column or key of the ids.")] = "id",
    template: Annotated[
        str | None,
        typer.Option(
            help='Prompt template with columns in braces: "Is this spam? {subject}: {text}"; {{ and }} are braces.',
            show_default="none",
        ),
    ] = None,
    system: SystemOption = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Only this many rows, drawn at random, with their prompts in the output: a .csv to check, correct and "
            "give to eval.",
            show_default="all rows",
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Rows that the model works on at a time.", show_default="as many as the memory holds"),
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="Further attempts for a row whose value is refused.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Sample; row i has this seed plus i.", show_default="greedy")] = None,
    draft: DraftOption = None,
    confidence: ConfidenceOption = False,
    model: ModelOption = None,
    max_new_tokens: MaxNewTokensOption = None,
) -> None:
    """Generate an instance of SPEC for every row of INPUT; a row that fails does not affect the others."""
    from schemagen.cli.batch import BatchCommand
    from schemagen.rows import Columns, PromptTemplate

    if spec == source == "-":
        raise typer.BadParameter("standard input cannot be both SPEC and INPUT")
    options: BatchOptions = {"batch_size": batch_size, "retries": retries, "max_new_tokens": max_new_tokens}
    if seed is not None:
        options["do_sample"] = True
    if draft is not None:
        options["draft"] = draft
    if confidence:
        options["confidence"] = True
    command = BatchCommand(
        spec=spec,
        target=read_spec(spec),
        source=source,
        output=output,
        failures=failures,
        resume=resume,
        shard=shard,
        columns=Columns(prompt_column, id_column, None if template is None else PromptTemplate(template)),
        system=system,
        sample=sample,
        model=model,
        seed=seed,
        options=options,
    )
    if not command.run():
        raise typer.Exit(1)


@app.command(name="eval")
@render_errors()
def eval_(  # noqa: PLR0913 - every option is a parameter
    spec: SpecArgument,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="CSV or JSON Lines: a prompt, and the expected values, in one column or one for each field; - for JSON Lines "
            "on standard input.",
            show_default=False,
        ),
    ],
    prompt_column: Annotated[str, typer.Option(help="Column, or key, of the prompts.")] = "prompt",
    count: Annotated[int | None, typer.Option(min=1, help="Only the first rows.", show_default="all")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A field to leave out of the score; may be repeated.", show_default="none")
    ] = None,
    system: SystemOption = None,
    constrained_only: Annotated[
        bool, typer.Option("--constrained-only", help="Skip the answers without the constraint.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="File for all answers, as JSON Lines.", show_default="none")
    ] = None,
    draft: DraftOption = None,
    model: ModelOption = None,
    max_new_tokens: MaxNewTokensOption = None,
) -> None:
    """Measure how many answers for INPUT are right, with the constraint of SPEC and without it."""
    from schemagen.cli.evaluation import Asked, run_evaluation

    if spec == source == "-":
        raise typer.BadParameter("standard input cannot be both SPEC and INPUT")
    given = {"max_new_tokens": max_new_tokens, "draft": draft}
    options = {name: value for name, value in given.items() if value is not None}
    asked = Asked(prompt_column, count, ignore or (), system, not constrained_only, options)
    run_evaluation(read_spec(spec), source, asked, model=model, record=output)


@app.command()
@render_errors()
def call(  # noqa: PLR0913 - every option is a parameter
    functions: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTIONS",
            help="Functions as module:name, several as module:name,name; a name may also be that of a list of them.",
            show_default=False,
        ),
    ],
    prompt: Annotated[str, typer.Argument(help="The question for the model.", show_default=False)],
    run: Annotated[bool, typer.Option("--run", help="Run the call, too, and print its result.")] = False,
    words: Annotated[bool, typer.Option("--words", help="Let the model answer in words instead.")] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print words, and on standard error arguments, while they are written.")
    ] = False,
    draft: DraftOption = None,
    model: ModelOption = None,
    max_new_tokens: MaxNewTokensOption = None,
) -> None:
    """Have the model call one of FUNCTIONS for PROMPT and print the call as JSON; nothing runs without --run."""
    from schemagen.cli.generation import call_one, show_call, stream_one_call

    ask = stream_one_call if stream else call_one
    options = {"tool_choice": None if words else "required", "max_new_tokens": max_new_tokens, "draft": draft}
    found = ask(read_functions(functions), prompt, model=model, options=options)
    if stream and isinstance(found, str):
        return  # its words are on the screen
    if not show_call(found, run=run):
        raise typer.Exit(1)


@app.command()
@render_errors()
def serve(  # noqa: PLR0913 - every option is a parameter
    model: ModelOption = None,
    bundled: Annotated[
        bool, typer.Option("--bundled", help="Serve the small model of the package: an offline endpoint for tests.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for any free one.")] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(envvar="SCHEMAGEN_API_KEY", help="Text that clients must send as their key.", show_default="none"),
    ] = None,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="Serve other machines without a key, if --host is not local.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Name of the model for clients.", show_default="its own")] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Texts written at once.", show_default="64")] = None,
    max_waiting: Annotated[
        int | None, typer.Option(min=1, help="Texts that may wait; further ones get 429.", show_default="256")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tokens of a request.", show_default="4096")
    ] = None,
    max_body_bytes: Annotated[
        int | None, typer.Option(min=1, help="Largest body of a request.", show_default="1000000")
    ] = None,
    compile_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds for compiling a schema.", show_default="2")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds of a request; then it is ended.", show_default="none")
    ] = None,
    batching: Annotated[
        Batching, typer.Option(help="Batching by the server (micro) or by transformers (continuous; auto on a GPU).")
    ] = Batching.AUTO,
    show_schema: Annotated[
        bool, typer.Option("--show-schema/--no-show-schema", help="Append the shape of the answer to chats.")
    ] = True,
    docs: Annotated[bool, typer.Option("--docs", help="Answer /docs and /openapi.json, too.")] = False,
) -> None:
    """Answer OpenAI's API (chat and text completions, streams, tools) with a model in this process."""
    from schemagen.cli.serving import serve_model

    if bundled == (model is not None):
        raise typer.BadParameter("give --model NAME, or --bundled, and not both")
    limits = {
        "max_rows": max_rows,
        "max_waiting": max_waiting,
        "max_new_tokens": max_tokens,
        "max_body_bytes": max_body_bytes,
        "compile_seconds": compile_seconds,
        "timeout": timeout,
    }
    continuous = {Batching.MICRO: False, Batching.CONTINUOUS: True}.get(batching)
    address = {"host": host, "port": port, "api_key": api_key, "no_key": no_key}
    options = {"show_schema": show_schema, "continuous": continuous, "docs": docs}
    serve_model(model, name=name, address=address, limits=limits, **options)


@app.command(name="compile")
@render_errors()
def compile_(
    spec: SpecArgument,
    tokenizer: TokenizerOption = None,
    as_: AsOption = Format.JSON,
    report: Annotated[bool, typer.Option("--report", help="List how every keyword is handled.")] = False,
    whitespace: Annotated[Whitespace, typer.Option(help="Where whitespace is allowed.")] = Whitespace.FLEXIBLE,
    indent: Annotated[
        int | None,
        typer.Option(
            min=0, help="The layout of json.dumps with this indent instead, and no other.", show_default=False
        ),
    ] = None,
) -> None:
    """Compile SPEC for a tokenizer and print its cost and, with --report, the enforced keywords."""
    from schemagen.cli.compilation import compile_one

    if indent is not None and whitespace is not Whitespace.FLEXIBLE:
        raise typer.BadParameter("an indent is a layout of its own; leave --whitespace out", param_hint="--indent")
    policy = cast("WhitespacePolicy", whitespace.value) if indent is None else schemagen.Layout(indent=indent)
    options = {"as_": as_.value, "whitespace": policy}
    compile_one(read_spec(spec), tokenizer=tokenizer, with_report=report, options=options)


@app.command()
@render_errors()
def lint(
    spec: SpecArgument,
    tokenizer: TokenizerOption = None,
    max_new_tokens: MaxNewTokensOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the advice as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is advice.")] = False,
) -> None:
    """Print advice about SPEC: choices that are valid, but make answers worse, longer or dearer.

    Rules about tokens need --tokenizer.
    """
    from schemagen.cli.compilation import lint_one

    count = lint_one(read_spec(spec), tokenizer=tokenizer, max_new_tokens=max_new_tokens, as_json=as_json)
    if strict and count:
        raise typer.Exit(1)


@app.command()
@render_errors()
def regex(spec: SpecArgument) -> None:
    """Print the regular expression (Python `re` syntax) of the texts that SPEC allows."""
    target = read_spec(spec)
    with busy("writing the regular expression"):
        text = schemagen.to_regex(target)
    show_text(text)


@app.command()
@render_errors()
def draw(  # noqa: PLR0913 - every option is a parameter
    spec: SpecArgument,
    what: Annotated[
        Picture | None,
        typer.Option(
            help="The picture to draw.", show_default="pushdown; automaton of a regular expression; rules of a grammar"
        ),
    ] = None,
    after: Annotated[str, typer.Option(help="The text before the mask.", show_default="none")] = "",
    regex: Annotated[bool, typer.Option("--regex", help="SPEC is a regular expression itself.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="File to write: .svg, .dot, .mmd or .md.", show_default="Mermaid on standard output"),
    ] = None,
    tokenizer: TokenizerOption = None,
    max_states: Annotated[int, typer.Option(min=1, help="States, or objects and arrays, to draw at most.")] = 40,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to list in one place at most.")] = 8,
) -> None:
    """Draw the automaton, the stack, the index or a mask of SPEC."""
    from schemagen.cli.compilation import draw_one

    target = schemagen.Regex(spec) if regex else read_spec(spec)
    options = {"what": what and what.value, "after": after, "max_states": max_states, "max_tokens": max_tokens}
    draw_one(target, tokenizer=tokenizer, output=output, **options)


@grammar_app.command()
@render_errors()
def check(
    file: Annotated[Path, typer.Argument(help="A grammar: .gbnf, .ebnf or .lark.", show_default=False)],
    start: Annotated[str | None, typer.Option(help="Of lark: the rule to start from.", show_default="start")] = None,
    parser: Annotated[LarkParser | None, typer.Option(help="Of lark.", show_default="earley")] = None,
    lexer: Annotated[LarkLexer | None, typer.Option(help="Of lark.", show_default="that of the parser")] = None,
) -> None:
    """Describe the grammar in FILE and its problems, and print some of its shortest texts."""
    from schemagen.cli.grammars import check_one

    options = {"start": start, "parser": parser and parser.value, "lexer": lexer and lexer.value}
    if not check_one(file, options):
        raise typer.Exit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; leaves through `SystemExit` with the exit status."""
    app(args=list(arguments) if arguments is not None else None, prog_name="schemagen")
