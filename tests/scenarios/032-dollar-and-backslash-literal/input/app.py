price = A
