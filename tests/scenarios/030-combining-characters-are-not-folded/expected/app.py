é E
