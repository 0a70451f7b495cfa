if a:
	x
	y
