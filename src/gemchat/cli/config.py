"""config: what is set and by whom, changing the user's own file, and storing the API key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gemchat import apikey
from gemchat.cli import options
from gemchat.cli.complete import setting_names
from gemchat.cli.surroundings import Surroundings
from gemchat.config import Found
from gemchat.configfile import change
from gemchat.configtable import OPTIONS, PRICES, Price, checked, option
from gemchat.core.visible import visible
from gemchat.errors import UsageError
from gemchat.view import View, interactive

app = typer.Typer(help="Show and change settings; store the API key.", invoke_without_command=True)

_NOT_SET = Found(value=None, source="default")

SettingName = Annotated[
    str, typer.Argument(metavar="KEY", help="A setting, as list has it.", autocompletion=setting_names)
]


@app.callback()
def config(ctx: typer.Context, as_json: options.AsJson = False, project: options.ProjectRoot = None) -> None:
    if ctx.invoked_subcommand is None:
        _listed(ctx.obj, as_json, project)


@app.command("list")
def list_settings(
    ctx: typer.Context, as_json: options.AsJson = False, project: options.ProjectRoot = None
) -> None:
    """List every setting: what it means, its value, and where that comes from."""
    _listed(ctx.obj, as_json, project)


@app.command()
def get(
    ctx: typer.Context, key: SettingName, as_json: options.AsJson = False, project: options.ProjectRoot = None
) -> None:
    """Print the value of a setting; nothing where it is not set."""
    option(key, UsageError)
    here: Surroundings = ctx.obj
    found = here.found(here.workspace(project).root).get(key, _NOT_SET)
    if as_json:
        View(as_json=True).json(_entry(key, found))
    elif found.value is not None:
        typer.echo(visible(found.value if isinstance(found.value, str) else in_toml(found.value)))


@app.command("set")
def set_value(
    ctx: typer.Context,
    key: SettingName,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.")],
) -> None:
    """Set a setting in your own file; its comments stay."""
    here: Surroundings = ctx.obj
    change(here.user_file, key, _typed(key, value, here.directory))
    View().note(f"{key} is set in {here.user_file}")


@app.command()
def unset(ctx: typer.Context, key: SettingName) -> None:
    """Remove a setting from your own file."""
    here: Surroundings = ctx.obj
    if change(here.user_file, key, None):
        View().note(f"{key} is removed from {here.user_file}")
        return
    option(key, UsageError)
    View().note(f"{key} is not set in {here.user_file}")


@app.command()
def path(ctx: typer.Context) -> None:
    """Print where your own file of settings is, whether it exists or not."""
    here: Surroundings = ctx.obj
    typer.echo(visible(str(here.user_file)))


@app.command("set-key")
def set_key(ctx: typer.Context) -> None:
    """Store the API key, asked for or read from stdin: in the keyring if there is one, else in a private file."""
    from gemchat.gemini.client import check_key

    here: Surroundings = ctx.obj
    if interactive():
        key = typer.prompt("Gemini API key (not shown)", hide_input=True, err=True)
    else:
        key = sys.stdin.buffer.readline().decode("utf-8", "replace") if sys.stdin else ""
    place = apikey.store_key(check_key(key), here.user_file.parent)
    view = View()
    view.note(f"the key is stored in {place}")
    if named := next((name for name in apikey.VARIABLES if here.environ.get(name)), None):
        view.note(f"{named} is set as well, and goes before it")


@app.command("unset-key")
def unset_key(ctx: typer.Context) -> None:
    """Remove the stored API key."""
    here: Surroundings = ctx.obj
    removed = apikey.remove_key(here.user_file.parent)
    View().note("the stored key is removed" if removed else "no key is stored")


def in_toml(value: Any) -> str:
    """A value as a file of settings has it."""
    if isinstance(value, Price):
        fields = msgspec.to_builtins(value)
        return "{ " + ", ".join(f"{name} = {amount}" for name, amount in fields.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _typed(key: str, text: str, directory: Path) -> Any:
    """A value as it is typed on a command line, where a path is relative to the directory."""
    if key.startswith(PRICES):
        import tomllib

        try:
            return checked(key, tomllib.loads(f"price = {text}")["price"], UsageError)
        except tomllib.TOMLDecodeError:
            return checked(key, text, UsageError)
    value = checked(key, text, UsageError, text=True)
    return str(directory / Path(value)) if key == "local.path" and value[0] != "~" else value


def _listed(here: Surroundings, as_json: bool, project: str | None) -> None:
    found = here.found(here.workspace(project).root)
    rows = [(row, name) for row in OPTIONS for name in _names(row.name, found)]
    if as_json:
        View(as_json=True).json({"settings": [_entry(name, found.get(name, _NOT_SET)) for _, name in rows]})
        return
    for row, name in rows:
        typer.echo(f"# {row.about}")
        typer.echo(visible(_line(name, found.get(name, _NOT_SET))))


def _names(name: str, found: dict[str, Found]) -> list[str]:
    """A row's settings: of prices there is one per model."""
    return [one for one in found if one.startswith(PRICES) and name.startswith(PRICES)] or [name]


def _line(name: str, found: Found) -> str:
    if found.value is None:
        return f"# {name} is not set"
    model = name.removeprefix(PRICES)
    key = name if model == name else f"{PRICES}{json.dumps(model, ensure_ascii=False)}"
    return f"{key} = {in_toml(found.value)}  # {found.source}{f': {found.where}' if found.where else ''}"


def _entry(name: str, found: Found) -> dict[str, Any]:
    return {
        "key": name,
        "value": msgspec.to_builtins(found.value),
        "source": found.source,
        "from": found.where or None,
        "about": option(name, UsageError).about,
    }
