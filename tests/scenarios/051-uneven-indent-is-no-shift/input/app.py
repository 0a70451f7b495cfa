if a:
    x
      y
