value = compute(a, b)
