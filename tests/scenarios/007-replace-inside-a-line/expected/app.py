x = bar(1, 2)
