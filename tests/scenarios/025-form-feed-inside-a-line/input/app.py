ab
c
