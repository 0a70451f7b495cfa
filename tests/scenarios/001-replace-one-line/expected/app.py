def f(a):
    return a + 1


def g(b):
    return b
