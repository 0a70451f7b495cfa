if a:
    x

    y
