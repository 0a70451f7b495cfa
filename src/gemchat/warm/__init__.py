"""The warm start: a process that has imported all a turn needs, and becomes the next turn by forking (Linux only).

Three kinds of processes take part, all in one session, that of a terminal:

* the *launcher* is what the shell started (`launch`). It hands over its descriptors and waits for an exit code.
* the *parent* waits on a socket (`parent`). It reads nothing but the loaded program and knows no invocation.
* for each launcher the parent forks a *keeper* (`keeper`), which looks at the launcher and forks the *worker*: the
  process that does what the launcher was called for, in its process group, with its descriptors, directory,
  environment and signals (`worker`). The keeper stays outside of that group, passes on signals that were sent to
  the launcher alone, and tells it how the worker ended.

Until the launcher has said that it means it, anything unexpected leaves it to start as if there were no parent.
"""
