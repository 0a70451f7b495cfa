a b
c
