from __future__ import annotations

import os
from pathlib import Path

import pytest

from gemchat.atomic import write_atomically
from gemchat.errors import FileMissing, OutsideProject, WorkspaceError
from gemchat.workspace import Workspace, find_root


@pytest.fixture
def workspace(project_root: Path) -> Workspace:
    return Workspace(project_root)


def test_the_root_is_the_nearest_directory_that_looks_like_a_project(tmp_path: Path) -> None:
    (tmp_path / "outer/.git").mkdir(parents=True)
    (tmp_path / "outer/a/inner").mkdir(parents=True)
    assert find_root(tmp_path / "outer/a/inner") == tmp_path / "outer"
    (tmp_path / "outer/a/package.json").touch()
    assert find_root(tmp_path / "outer/a/inner") == tmp_path / "outer/a"
    assert find_root(tmp_path) == tmp_path


def test_paths_are_relative_to_the_root_wherever_they_are_named(workspace: Workspace) -> None:
    sub = workspace.root / "sub"
    sub.mkdir()
    assert workspace.relative("app.py", workspace.root) == "app.py"
    assert workspace.relative("app.py", sub) == "sub/app.py"
    assert workspace.relative("../app.py", sub) == "app.py"
    assert workspace.relative(str(sub / "app.py"), Path("/")) == "sub/app.py"


def test_nothing_outside_is_reached(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (workspace.root / "link").symlink_to(tmp_path / "secret")
    (workspace.root / "dir").symlink_to(tmp_path)
    for argument in ("../secret", str(tmp_path / "secret"), "link", "dir/secret", ".."):
        with pytest.raises(OutsideProject):
            workspace.relative(argument, workspace.root)
    for path in ("../secret", "/etc/passwd", "link", "dir/secret", "a/../../secret"):
        with pytest.raises(OutsideProject):
            workspace.read(path)
        with pytest.raises(OutsideProject):
            workspace.write(path, b"")
    assert (tmp_path / "secret").read_text() == "s"


def test_only_regular_files_are_read(workspace: Workspace) -> None:
    assert workspace.read("missing") is None
    (workspace.root / "file").write_bytes(b"x")
    assert workspace.read("file") == b"x"
    assert workspace.read("file/below") is None
    os.mkfifo(workspace.root / "pipe")
    (workspace.root / "dir").mkdir()
    for path in ("pipe", "dir"):
        with pytest.raises(WorkspaceError, match="not a regular file"):
            workspace.read(path)


def test_writing_keeps_mode_and_links(workspace: Workspace) -> None:
    real = workspace.root / "real"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (workspace.root / "link").symlink_to("real")
    workspace.write("link", b"new")
    assert (workspace.root / "link").is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_new_file_gets_the_usual_mode(workspace: Workspace) -> None:
    mask = os.umask(0o027)
    try:
        workspace.write("new", b"x")
    finally:
        os.umask(mask)
    assert (workspace.root / "new").stat().st_mode & 0o777 == 0o640
    assert workspace.mode("new") == 0o100644
    (workspace.root / "new").chmod(0o755)
    assert workspace.mode("new") == 0o100755
    assert workspace.mode("missing") == 0o100644


def test_attributes_are_kept(workspace: Workspace) -> None:
    file = workspace.root / "file"
    file.write_bytes(b"old")
    try:
        os.setxattr(file, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    workspace.write("file", b"new")
    assert os.getxattr(file, "user.note") == b"mine"


def test_a_file_that_cannot_be_written_says_so(workspace: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="missing/new cannot be written: No such file"):
        workspace.write("missing/new", b"")
    with pytest.raises(WorkspaceError, match="gone cannot be deleted"):
        workspace.delete("gone")
    with pytest.raises(FileMissing, match="no directory"):
        workspace.check_creatable("missing/new")


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "file", b"new", like=tmp_path / "missing")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_root_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="there is no directory"):
        Workspace(tmp_path / "missing")


def test_the_beginning_of_a_file_and_of_what_is_none(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "a").write_bytes(b"abc")
    os.mkfifo(tmp_path / "pipe")
    assert workspace.beginning("a", 2) == b"ab"
    assert workspace.beginning("a", 9) == b"abc"
    for name in ("none", "pipe", ".", "a/below"):
        assert workspace.beginning(name, 2) == b""
    with pytest.raises(OutsideProject):
        workspace.beginning("../a", 2)
