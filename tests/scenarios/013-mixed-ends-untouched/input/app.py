a
b
c
d
