from __future__ import annotations

import pytest

from gemchat.symbols import has_symbols, symbols

GO = 'package main\nimport f "m"\ntype A struct{}\nconst X = 1\nfunc (a A) M() {}\nfunc main() { f.Println() }\n'
RUST = "use a::b;\npub struct S { x: i32 }\nimpl S { fn m() {} }\nfn f() { let y = 1; }\nmod inner { fn g() {} }\n"
TYPESCRIPT = (
    "import {a as b} from 'x';\nexport class K { m() {} }\nexport const c = () => 1;\ninterface I { x: string }\n"
    "export default function ff() { const inner = 1 }\nfoo(bar.baz);\n"
)


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "import os\nclass A:\n    def m(self): ...\nasync def b(): ...\ndef c(): ...\n", ("A", "b", "c")),
        ("a.py", "def broken(:\n", ()),
        ("a.py", "x = 0x\0", ()),
        ("a.go", GO, ("A", "X", "M", "main")),
        ("a.rs", RUST, ("S", "m", "f", "inner")),
        ("a.ts", TYPESCRIPT, ("K", "c", "I", "ff")),
        ("a.tsx", "export function C() { return <b>x</b> }\n", ("C",)),
        ("a.js", "function a() {}\nconst {x, y} = require('z');\nclass Q {}\na();\nfunction a() {}\n", ("a", "Q")),
        ("A.java", "package p; import q.R; public class A { void m(){} }", ("A",)),
        ("a.go", "func ((((\ufffd\ud800", ()),
        ("a.txt", "class A: pass", ()),
    ],
)
def test_the_names_at_the_top_of_a_file(path: str, text: str, names: tuple[str, ...]) -> None:
    assert symbols(path, text) == names
    assert has_symbols(path) == (path != "a.txt")
