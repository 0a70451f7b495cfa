b
c
