a = [x+y]*(z)?
