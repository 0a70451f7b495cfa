a
B
c
