aB
c
