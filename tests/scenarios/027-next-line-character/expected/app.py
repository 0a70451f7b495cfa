ab
C
