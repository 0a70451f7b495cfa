if a:
    x

    z
