A B
c
