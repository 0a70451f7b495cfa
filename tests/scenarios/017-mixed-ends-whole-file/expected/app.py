a
x
b
c
