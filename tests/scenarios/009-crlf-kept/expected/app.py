def f(a):
    x = a
    return x


def g(b):
    return b
