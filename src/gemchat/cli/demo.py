"""demo: the whole loop on a throw-away project, with the local or a scripted model, by the ordinary commands."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gemchat.blobs import sha256
from gemchat.cli.surroundings import Surroundings
from gemchat.config import LOCAL_MODEL
from gemchat.core.model import Turn
from gemchat.errors import GemchatError

if TYPE_CHECKING:
    from gemchat.project import Project

_SHOP = '''\
"""Prices of a small shop, in cents."""

VAT_PERCENT = 19


def net_price(gross):
    """The price without value added tax."""
    return round(gross * 100 / (100 + VAT_PERCENT))


def discounted(price, percent):
    """The price after a discount."""
    return price - price * percent // 100


def shipping(weight):
    """What it costs to send a parcel of so many grams."""
    return 490 if weight <= 1000 else 490 + (weight - 1000) // 500 * 120
'''
_CART = '''\
"""The shopping cart."""

from shop import discounted, shipping


def total(items, weight, percent=0):
    """The price of all items after the discount, with shipping."""
    goods = sum(price for _, price in items)
    return discounted(goods, percent) + shipping(weight)


def cheapest(items):
    """The name of the item that costs least."""
    return min(items, key=lambda item: item[1])[0]


def receipt(items, weight, percent=0):
    """The cart as lines of text, the total last."""
    lines = [f"{name:20} {price / 100:8.2f}" for name, price in items]
    if percent:
        lines.append(f"{'discount':20} {-percent:7}%")
    lines.append(f"{'total':20} {total(items, weight, percent) / 100:8.2f}")
    return "\\n".join(lines)
'''
_BY_HAND = """

def is_free(items):
    return not any(price for _, price in items)
"""


class _Part(NamedTuple):
    """Who plays the model, what it is asked to change, and how gemchat gets to it."""

    who: str
    wish: str
    environ: dict[str, str]


def demo(
    ctx: typer.Context,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Let a script answer, also where a local model is installed.")
    ] = False,
) -> None:
    """Show the whole loop without a key or network: ask, edit, diff, apply, undo, and what is sent for it."""
    here: Surroundings = ctx.obj
    own = here.environ if scripted else here.local_environ(here.settings(here.workspace(None).root))
    cast = _script() if scripted or not here.has_local(own) else _local_model(here, own)
    with tempfile.TemporaryDirectory(prefix="gemchat-demo-") as directory, cast as part:
        project = Path(directory, "shop")
        project.mkdir()
        (project / "shop.py").write_text(_SHOP)
        (project / "cart.py").write_text(_CART)
        environ = {
            **{name: value for name, value in here.environ.items() if not name.startswith("GEMCHAT_")},
            **part.environ,
            "GEMCHAT_STATE_DIR": str(Path(directory, "state")),
            "GEMCHAT_CONFIG_DIR": str(Path(directory, "config")),
        }
        inside = Surroundings(environ=environ, directory=project, clock=here.clock)
        _tour(inside, part)


@contextmanager
def _script() -> Iterator[_Part]:
    from gemchat.local.demo import DemoMind
    from gemchat.local.server import LoopbackServer

    with LoopbackServer(DemoMind()) as server:
        environ = {"GEMINI_API_KEY": "demo", "GOOGLE_GEMINI_BASE_URL": server.url}
        yield _Part("a script", "add input validation", environ)


@contextmanager
def _local_model(here: Surroundings, own: Mapping[str, str]) -> Iterator[_Part]:
    """The server is the user's own one, so that the model is loaded once and stays for what comes after."""
    passed = ("GEMCHAT_LOCAL_", "GEMCHAT_CACHE_")
    kept = {name: value for name, value in own.items() if name.startswith(passed)}
    environ = {**kept, "GEMCHAT_MODEL": LOCAL_MODEL, "GEMCHAT_RUNTIME_DIR": str(here.local_place().directory)}
    yield _Part("a small language model", "raise a ValueError in net_price when gross is negative", environ)


def _tour(inside: Surroundings, part: _Part) -> None:
    typer.echo(
        f"A tour on a small project. The model is {part.who} on this machine, not Gemini: no key, no network."
    )
    shop = inside.directory / "shop.py"
    before = sha256(shop.read_bytes())
    _said("Both files go out once, with the first question.")
    _command(inside, "ask", "what do these files do?", "shop.py", "cart.py")
    _said("A follow-up about unchanged files sends the question alone.")
    _command(inside, "ask", "where is the shipping computed?")
    _said("An edit comes back as a proposal. The file is not touched.")
    _command(inside, "edit", part.wish, "shop.py")
    if _project(inside).pending():  # on a terminal its visitor may have decided otherwise
        _said("In a pipe the proposal is a patch for git apply.")
        _command(inside, "diff", "--patch")
        _command(inside, "apply")
    _said("Now cart.py is changed by hand: the next question carries that as a diff, and nothing of shop.py.")
    typer.echo("$ cat is_free.py >> cart.py")
    with (inside.directory / "cart.py").open("a") as cart:
        cart.write(_BY_HAND)
    _command(inside, "ask", "what can the receipt show now?", "shop.py", "cart.py")
    if sha256(shop.read_bytes()) != before:
        _said("Undo gives back every byte.")
    while sha256(shop.read_bytes()) != before:  # once for each part it was applied in
        _command(inside, "undo")
    _command(inside, "log")
    _said(_balance(inside))
    _said('With a key in GEMINI_API_KEY the same works on your files: gemchat ask "why this pattern?" app.py')


def _said(text: str) -> None:
    typer.echo(f"\n# {text}")


def _command(inside: Surroundings, *arguments: str) -> None:
    from gemchat.cli.app import run

    typer.echo(f"$ gemchat {shlex.join(arguments)}")
    code = run(arguments, inside)
    if code:
        raise GemchatError(f"gemchat {arguments[0]} ended with exit code {code}")


def _balance(inside: Surroundings) -> str:
    project = _project(inside)
    turns = [entry for entry in project.load().journal if isinstance(entry, Turn)]
    sent = sum(turn.sent.bytes for turn in turns)
    whole = sum(len(data) for turn in turns for data in _targets(turn, project.bytes_of))
    return (
        f"{len(turns)} turns sent {sent:,} bytes; sending the files each time would have taken {whole:,} and more."
    )


def _project(inside: Surroundings) -> Project:
    from gemchat.view import View

    return inside.project(View(quiet=True))


def _targets(turn: Turn, bytes_of: Callable[[str, str], bytes]) -> Iterator[bytes]:
    return (bytes_of(file.path, file.sha256) for file in turn.sent.files if file.sha256)
