s = 'a\nc'
