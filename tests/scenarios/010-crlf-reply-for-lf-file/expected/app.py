def f(a):
    return 1


def g(b):
    return b
