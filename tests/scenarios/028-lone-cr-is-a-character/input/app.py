ab
c
