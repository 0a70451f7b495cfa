 x
 y
  x
  y
