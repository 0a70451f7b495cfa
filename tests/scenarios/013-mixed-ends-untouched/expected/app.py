a
b
C
d
