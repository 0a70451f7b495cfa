def f(a):
    print(a)
    return a


def g(b):
    return b
