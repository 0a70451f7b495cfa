if a:
	x
	z
