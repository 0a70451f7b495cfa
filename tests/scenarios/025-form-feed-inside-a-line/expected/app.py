ab
C
