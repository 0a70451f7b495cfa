a
b
c