price = $& $1 $$ \1 \n {0} %s
