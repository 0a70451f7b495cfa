def f(a):
    return a


def g(b):
    return b
