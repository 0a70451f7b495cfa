ab
c
