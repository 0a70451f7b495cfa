two one
