ab
c
